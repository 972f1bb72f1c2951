/**
 * A JVM source that hangs, and one that answers 100 MB of nonsense, on a running sidecar: `metrics/jvm` and its parts answer
 * 503 with the reason and since when, the proxied traffic is undisturbed, and memory stays the same.
 */
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Agent, request } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import type { Config, JvmHttpKind } from '../../src/config/config.ts';
import { someOf } from '../support/effort.ts';
import { type Script, type ScriptedServer, startScripted } from '../support/jvm/http/scripted-server.ts';
import { answering, OK, type Stand, startStand } from './wire/stand.ts';

const WELL = readFileSync(new URL('../fixtures/jvm/http/jolokia/bulk-response.json', import.meta.url), 'utf8');
const KINDS: readonly JvmHttpKind[] = ['tomcat-jmxproxy', 'tomcat-status', 'jolokia', 'prometheus', 'wildfly'];
const ENDPOINTS = ['/classloader', '/memory', '/garbagecollector', ''];

const MB = 1_000_000;
const NONSENSE_BYTES = 100 * MB;
/** Contains no valid line and no end of line: the reader has to buffer it up to its bound. */
const NONSENSE = Buffer.alloc(65_536, '{"jvm_memory_used_bytes{<html>');
/** Bytes in flight when the sidecar closes the connection: buffers of the server and of the kernel. */
const MAX_TAKEN_BYTES = 20 * MB;
/** All memory of Node: far less than one such answer. */
const MAX_PEAK_BYTES = 50 * MB;
const MAX_GROWTH_BYTES = 4 * MB;
const MAX_LATENCY_MS = 1_000;

const INTERVAL_MS = 5;
const READS = 4;
const CALLS = 50;
const WAIT_MS = 10_000;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly detail: string;
  readonly since: string;
}

/** Accepts requests and never answers. */
const hang: Script = () => undefined;

/** Starts a good answer, and never ends it. */
const hangHalfWay: Script = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(WELL.slice(0, WELL.length / 2));
};

const answerWell: Script = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json' }).end(WELL);
};

/** As fast as the reader accepts, with or without Content-Length. */
function answerNonsense(response: ServerResponse, isAnnounced: boolean): void {
  response.writeHead(200, {
    'content-type': 'text/plain; version=0.0.4',
    ...(isAnnounced ? { 'content-length': NONSENSE_BYTES } : {}),
  });
  let left = NONSENSE_BYTES;
  const go = () => {
    while (left > 0 && !response.destroyed) {
      const piece = NONSENSE.subarray(0, Math.min(left, NONSENSE.length));
      left -= piece.length;
      if (!response.write(piece)) {
        response.once('drain', go);
        return;
      }
    }
    response.end();
  };
  go();
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Setup {
  readonly stand: Stand;
  readonly server: ScriptedServer;
  /** All accepted connections of the source. */
  readonly taken: readonly Socket[];
}

async function start(kind: JvmHttpKind, script: Script, jvm: Partial<Config['jvm']> = {}): Promise<Setup> {
  const taken: Socket[] = [];
  const server = await startScripted((seen, response) => {
    if (response.socket !== null) taken.push(response.socket);
    script(seen, response);
  });
  closers.push(() => server.close());
  const http = { kind, url: server.origin, username: undefined, passwordFile: undefined, passwordEnv: undefined };
  const tls = { caFile: undefined, serverName: undefined };
  const stand = await startStand({
    onConnection: answering(OK),
    config: (base) => ({
      jvm: { ...base.jvm, source: 'auto', http: { ...http, ...tls }, intervalMs: INTERVAL_MS, ...jvm },
    }),
  });
  closers.push(() => stand.close());
  return { stand, server, taken };
}

async function ask({ monitorPort }: Stand, endpoint: string): Promise<Answer> {
  const url = `http://127.0.0.1:${monitorPort}/smartWeb/api/rest/v0/admin/metrics/jvm${endpoint}`;
  const { statusCode, headers, body } = await request(url);
  const { detail = '', since = '' } = (await body.json()) as Partial<Answer>;
  return { status: statusCode, headers, detail, since };
}

async function askAll(stand: Stand): Promise<Answer[]> {
  return await Promise.all(ENDPOINTS.map((endpoint) => ask(stand, endpoint)));
}

async function until(isDone: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadlineMs = performance.now() + WAIT_MS;
  while (!(await isDone())) {
    if (performance.now() > deadlineMs) throw new Error(`not in ${WAIT_MS} ms: ${what}`);
    await delay(5);
  }
}

/** Calls through the sidecar, in sequence on two connections, until `stop`. */
function startTraffic({ port }: Stand): {
  calls(): number;
  stop(): Promise<{ statuses: Set<number>; slowestMs: number }>;
} {
  const dispatcher = new Agent({ connections: 2 });
  const statuses = new Set<number>();
  let [calls, slowestMs, isOver] = [0, 0, false];
  const client = async () => {
    while (!isOver) {
      const startedMs = performance.now();
      const { statusCode, body } = await request(`http://127.0.0.1:${port}/smartWeb/api/rest/v0/d2/x`, { dispatcher });
      expect(await body.text()).toBe('ok');
      statuses.add(statusCode);
      calls += 1;
      slowestMs = Math.max(slowestMs, performance.now() - startedMs);
      await delay(1);
    }
  };
  const clients = [client(), client()];
  return {
    calls: () => calls,
    stop: async () => {
      isOver = true;
      await Promise.all(clients);
      await dispatcher.close();
      return { statuses, slowestMs };
    },
  };
}

async function expectUndisturbed(traffic: ReturnType<typeof startTraffic>): Promise<void> {
  const { statuses, slowestMs } = await traffic.stop();
  expect([...statuses]).toEqual([200]);
  expect(slowestMs).toBeLessThan(MAX_LATENCY_MS);
}

/** Unavailable since the start, as it was never read. */
function expectUnavailable(answers: readonly Answer[], startedMs: number, reason: RegExp): void {
  for (const { status, headers, detail, since } of answers) {
    expect(status).toBe(503);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(detail).toMatch(reason);
    expect(Date.parse(since)).toBeGreaterThanOrEqual(Math.floor(startedMs));
    expect(since).toBe(answers[0]?.since);
  }
  expect(answers).toHaveLength(ENDPOINTS.length);
}

const nowMs = () => performance.timeOrigin + performance.now();

describe.each(someOf(KINDS, 2))('a source of the kind %s', (kind) => {
  it.each([
    ['does not answer', hang],
    ['stops in the middle of its answer', hangHalfWay],
  ])('that %s is given up each time and does no harm', async (_, script) => {
    const startedMs = nowMs();
    const { stand, server, taken } = await start(kind, script, { timeoutMs: 60, staleAfterMs: 100 });
    const traffic = startTraffic(stand);
    await until(() => taken.length > READS && traffic.calls() > CALLS, 'readings and calls');
    expectUnavailable(await askAll(stand), startedMs, /did not answer (?:in time|within 60 ms) \(jvm\.timeout\)/);
    // Each reading is given up before the next one begins, so connections do not pile up.
    expect(server.sockets.size).toBeLessThanOrEqual(2);
    await expectUndisturbed(traffic);
  });

  it.each([
    ['announced', true],
    ['of unknown length', false],
  ])('that answers 100 MB of nonsense, %s, is given up each time and does no harm', async (_, isAnnounced) => {
    const startedMs = nowMs();
    const answer: Script = (_request, response) => answerNonsense(response, isAnnounced);
    const { stand, server, taken } = await start(kind, answer, { timeoutMs: 5_000 });
    const traffic = startTraffic(stand);
    await until(() => taken.length > READS && traffic.calls() > CALLS, 'readings and calls');
    expectUnavailable(await askAll(stand), startedMs, /sent an answer that is too large/);
    expect(server.sockets.size).toBeLessThanOrEqual(2);
    for (const socket of taken) expect(socket.bytesWritten).toBeLessThan(MAX_TAKEN_BYTES);
    await expectUndisturbed(traffic);
  });
});

describe('a source that hangs after good readings', () => {
  it('is shown until it is stale, then hidden, and shown again once it answers', async () => {
    let script = answerWell;
    const jvm = { timeoutMs: 60, staleAfterMs: 400 };
    const { stand } = await start('jolokia', (seen, response) => script(seen, response), jvm);
    const traffic = startTraffic(stand);
    const isAll = (status: number) => async () => (await askAll(stand)).every((answer) => answer.status === status);
    await until(isAll(200), 'its first reading');
    script = hang;
    const hungMs = nowMs();
    expect((await askAll(stand)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await until(isAll(503), 'a stale reading');
    expect(nowMs() - hungMs).toBeGreaterThan(jvm.staleAfterMs - jvm.timeoutMs - 100);
    for (const { detail, since } of await askAll(stand)) {
      expect(detail).toContain('jvm.timeout');
      // The last good reading, which may have been in progress.
      expect(Math.abs(Date.parse(since) - hungMs)).toBeLessThan(jvm.timeoutMs + 100);
    }
    script = answerWell;
    await until(isAll(200), 'the next good reading');
    await expectUndisturbed(traffic);
  });
});

describe('repeated readings of 100 MB of nonsense', () => {
  it('take no memory, neither at once nor in the long run', async () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    const inUse = () => {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const answer: Script = (_request, response) => answerNonsense(response, false);
    const { taken } = await start('prometheus', answer, { timeoutMs: 5_000 });
    /** The minimum during some readings: a moment without an answer in flight. */
    const atRest = async () => {
      let least = Number.POSITIVE_INFINITY;
      const readings = taken.length + 20;
      let collected = 0;
      await until(() => {
        // Once for each reading: a collection takes a while in a process of many tests.
        if (taken.length !== collected) {
          gc();
          collected = taken.length;
          least = Math.min(least, inUse());
        }
        return taken.length > readings;
      }, 'some readings');
      return least;
    };
    const before = await atRest();
    let peak = before;
    const readings = taken.length + 60;
    await until(() => {
      peak = Math.max(peak, inUse());
      return taken.length > readings;
    }, 'many readings');
    expect(peak - before).toBeLessThan(MAX_PEAK_BYTES);
    expect((await atRest()) - before).toBeLessThan(MAX_GROWTH_BYTES);
  });
});
