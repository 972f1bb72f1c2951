/**
 * A JVM source that hangs, and one that answers 100 MB of nonsense, on a running sidecar: `metrics/jvm` and its parts answer
 * 503 with the reason and since when, the proxied traffic is undisturbed, and memory stays the same.
 */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Config, JvmHttpKind } from '../../src/config/config.ts';
import { until } from '../support/comet/until.ts';
import { someOf } from '../support/effort.ts';
import { Flood, type Script, type ScriptedServer, startScripted } from '../support/jvm/http/scripted-server.ts';
import { answering, OK, type Stand, startStand } from './wire/stand.ts';

const WELL = readFileSync(new URL('../fixtures/jvm/http/jolokia/bulk-response.json', import.meta.url), 'utf8');
const KINDS: readonly JvmHttpKind[] = ['tomcat-jmxproxy', 'tomcat-status', 'jolokia', 'prometheus', 'wildfly'];
const ENDPOINTS = ['/classloader', '/memory', '/garbagecollector', ''];
const JSON_TYPE = { 'content-type': 'application/json' };

const MB = 1_000_000;
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

const hang: Script = () => undefined;
const hangHalfWay: Script = (_, response) => {
  response.writeHead(200, JSON_TYPE).write(WELL.slice(0, WELL.length / 2));
};
const answerWell: Script = (_, response) => {
  response.writeHead(200, JSON_TYPE).end(WELL);
};
const answerNonsense: Script = (seen, response) => {
  response.setHeader('content-type', 'text/plain; version=0.0.4');
  new Flood(NONSENSE).script(seen, response);
};
const announceNonsense: Script = (seen, response) => {
  response.setHeader('content-length', 100 * MB);
  answerNonsense(seen, response);
};

let server: ScriptedServer;
let stand: Stand;
/** All accepted connections of the source. */
let taken: Socket[];
beforeEach(() => {
  taken = [];
});
afterEach(async () => {
  await stand.close();
  await server.close();
});

async function start(kind: JvmHttpKind, script: Script, jvm: Partial<Config['jvm']>): Promise<void> {
  server = await startScripted((seen, response) => {
    if (response.socket !== null) taken.push(response.socket);
    script(seen, response);
  });
  const credentials = { username: undefined, passwordFile: undefined, passwordEnv: undefined };
  const http = { kind, url: server.origin, ...credentials, caFile: undefined, serverName: undefined };
  stand = await startStand({
    onConnection: answering(OK),
    config: (base) => ({ jvm: { ...base.jvm, source: 'auto', http, intervalMs: INTERVAL_MS, ...jvm } }),
  });
}

interface Answer {
  readonly status: number;
  readonly type: unknown;
  readonly detail: string;
  readonly since: string;
}

async function askAll(): Promise<Answer[]> {
  return await Promise.all(
    ENDPOINTS.map(async (endpoint) => {
      const url = `http://127.0.0.1:${stand.monitorPort}/smartWeb/api/rest/v0/admin/metrics/jvm${endpoint}`;
      const { statusCode: status, headers, body } = await request(url);
      const { detail = '', since = '' } = (await body.json()) as Partial<Answer>;
      return { status, type: headers['content-type'], detail, since };
    }),
  );
}

const statuses = async () => (await askAll()).map(({ status }) => status);
const all = (status: number) => ENDPOINTS.map(() => status);
const nowMs = () => performance.timeOrigin + performance.now();

/** Calls through the sidecar on two connections; `expectUndisturbed` ends them. */
function startTraffic() {
  const dispatcher = new Agent({ connections: 2 });
  const url = `http://127.0.0.1:${stand.port}/smartWeb/api/rest/v0/d2/x`;
  const seen = { calls: 0, slowestMs: 0, isOver: false };
  const client = async () => {
    while (!seen.isOver) {
      const startedMs = performance.now();
      const { statusCode, body } = await request(url, { dispatcher });
      expect([statusCode, await body.text()]).toEqual([200, 'ok']);
      seen.calls += 1;
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - startedMs);
      await delay(1);
    }
  };
  const clients = Promise.all([client(), client()]);
  const expectUndisturbed = async () => {
    seen.isOver = true;
    await clients;
    await dispatcher.close();
    expect(seen.slowestMs).toBeLessThan(MAX_LATENCY_MS);
  };
  return { seen, expectUndisturbed };
}

const LATE = /did not answer (?:in time|within 60 ms) \(jvm\.timeout\)/;
const TOO_LARGE = /sent an answer that is too large/;

describe.each(someOf(KINDS, 2))('a source of the kind %s', (kind) => {
  it.each<[string, Script, number, RegExp]>([
    ['does not answer', hang, 60, LATE],
    ['stops in the middle of its answer', hangHalfWay, 60, LATE],
    ['answers 100 MB of nonsense, announced', announceNonsense, 5_000, TOO_LARGE],
    ['answers 100 MB of nonsense, of unknown length', answerNonsense, 5_000, TOO_LARGE],
  ])('that %s is given up each time and does no harm', async (_, script, timeoutMs, reason) => {
    const startedMs = nowMs();
    await start(kind, script, { timeoutMs, staleAfterMs: 100 });
    const { seen, expectUndisturbed } = startTraffic();
    await until('readings and calls', () => taken.length > READS && seen.calls > CALLS, WAIT_MS);
    const answers = await askAll();
    for (const { status, type, detail, since } of answers) {
      expect([status, type]).toEqual([503, 'application/problem+json']);
      expect(detail).toMatch(reason);
      // Unavailable since the start, as it was never read.
      expect(Date.parse(since)).toBeGreaterThanOrEqual(Math.floor(startedMs));
      expect(since).toBe(answers[0]?.since);
    }
    // Each reading is given up before the next one begins, so connections do not pile up.
    expect(server.sockets.size).toBeLessThanOrEqual(2);
    for (const socket of taken) expect(socket.bytesWritten).toBeLessThan(MAX_TAKEN_BYTES);
    await expectUndisturbed();
  });
});

it('a source that hangs after good readings is shown until it is stale, then hidden, and shown again', async () => {
  let script = answerWell;
  const jvm = { timeoutMs: 60, staleAfterMs: 400 };
  await start('jolokia', (seen, response) => script(seen, response), jvm);
  const { expectUndisturbed } = startTraffic();
  const soon = { timeout: WAIT_MS, interval: 5 };
  await expect.poll(statuses, soon).toEqual(all(200));
  script = hang;
  const hungMs = nowMs();
  expect(await statuses()).toEqual(all(200));
  await expect.poll(statuses, soon).toEqual(all(503));
  expect(nowMs() - hungMs).toBeGreaterThan(jvm.staleAfterMs - jvm.timeoutMs - 100);
  for (const { detail, since } of await askAll()) {
    expect(detail).toContain('jvm.timeout');
    // The last good reading, which may have been in progress.
    expect(Math.abs(Date.parse(since) - hungMs)).toBeLessThan(jvm.timeoutMs + 100);
  }
  script = answerWell;
  await expect.poll(statuses, soon).toEqual(all(200));
  await expectUndisturbed();
});

it('repeated readings of 100 MB of nonsense take no memory, neither at once nor in the long run', async () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const inUse = () => {
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  await start('prometheus', answerNonsense, { timeoutMs: 5_000 });
  const duringReadings = async (count: number, look: () => void) => {
    const enough = taken.length + count;
    const isEnough = () => {
      look();
      return taken.length > enough;
    };
    await until(`${count} readings`, isEnough, WAIT_MS);
  };
  /** The minimum during some readings: a moment without an answer in flight. */
  const atRest = async () => {
    let least = Number.POSITIVE_INFINITY;
    let collected = 0;
    await duringReadings(20, () => {
      // Once for each reading: a collection takes a while in a process of many tests.
      if (taken.length === collected) return;
      gc();
      collected = taken.length;
      least = Math.min(least, inUse());
    });
    return least;
  };
  const before = await atRest();
  let peak = before;
  await duringReadings(60, () => {
    peak = Math.max(peak, inUse());
  });
  expect(peak - before).toBeLessThan(MAX_PEAK_BYTES);
  expect((await atRest()) - before).toBeLessThan(MAX_GROWTH_BYTES);
});
