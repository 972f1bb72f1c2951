/** A JVM source that hangs or floods a sidecar: it is given up each time, 503 has the reason, and calls go on. */
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { untilTestEnds } from '../support/deferred.ts';
import { Flood, type Script, type ScriptedServer, startScripted } from '../support/jvm/http/scripted-server.ts';
import { answering, OK, type Stand, type StandOptions, startStand } from '../support/wire/stand.ts';

const WELL = readFileSync(new URL('../fixtures/jvm/http/jolokia/bulk-response.json', import.meta.url), 'utf8');
/** Contains no valid line and no end of line: the reader has to buffer it up to its bound. */
const NONSENSE = Buffer.alloc(65_536, '{"jvm_memory_used_bytes{<html>');
/** Bytes in flight when the sidecar closes the connection: buffers of the server and of the kernel. */
const MAX_TAKEN_BYTES = 20_000_000;

const hangHalfWay: Script = (_, response) => void response.writeHead(200).write(WELL.slice(0, WELL.length / 2));
const answerNonsense: Script = (...both) => new Flood(NONSENSE).script(...both);

let server: ScriptedServer;
let stand: Stand;
let script: Script;
/** All accepted connections of the source. */
let taken: Socket[];
beforeEach(async () => {
  taken = [];
  server = await startScripted((seen, response) => {
    if (response.socket !== null) taken.push(response.socket);
    script(seen, response);
  });
});
afterEach(() => server.close());

async function start(timeoutMs: number, staleAfterMs: number): Promise<void> {
  const credentials = { username: undefined, passwordFile: undefined, passwordEnv: undefined };
  const files = { caFile: undefined, serverName: undefined };
  const http = { kind: 'jolokia', url: server.origin, ...credentials, ...files } as const;
  const config: StandOptions['config'] = ({ jvm }) => ({
    jvm: { ...jvm, source: 'auto', http, intervalMs: 5, timeoutMs, staleAfterMs },
  });
  stand = await startStand({ onConnection: answering(OK), config }, untilTestEnds);
}

async function askJvm(endpoint: string) {
  const url = `http://127.0.0.1:${stand.monitorPort}/smartWeb/api/rest/v0/admin/metrics/jvm${endpoint}`;
  const { statusCode: status, headers, body } = await request(url);
  const { detail = '', since = '' } = (await body.json()) as { detail?: string; since?: string };
  return { status, type: headers['content-type'], detail, since };
}

const LATE = /did not answer (?:in time|within 60 ms) \(jvm\.timeout\)/;

it.each<[string, Script, number, RegExp]>([
  ['stops in the middle of its answer', hangHalfWay, 60, LATE],
  ['answers 100 MB of nonsense', answerNonsense, 5_000, /sent an answer that is too large/],
])('a JVM source that %s is given up each time and does no harm', async (_, misbehave, timeoutMs, reason) => {
  const startedMs = Math.floor(performance.timeOrigin + performance.now());
  script = misbehave;
  await start(timeoutMs, 100);
  const dispatcher = new Agent({ connections: 1 });
  for (let calls = 0; calls < 50 || taken.length < 5; calls += 1) {
    const { statusCode, body } = await request(`http://127.0.0.1:${stand.port}/x`, { dispatcher });
    expect([statusCode, await body.text()]).toEqual([200, 'ok']);
  }
  await dispatcher.close();
  const { status, type, detail, since } = await askJvm('/memory');
  expect([status, type, detail]).toEqual([503, 'application/problem+json', expect.stringMatching(reason)]);
  // Unavailable since the start, as it was never read. The clock of the machine may have been adjusted meanwhile.
  expect(Date.parse(since)).toBeGreaterThanOrEqual(startedMs - 1_000);
  expect(await askJvm('')).toEqual({ status, type, detail, since });
  const live = await request(`http://127.0.0.1:${stand.monitorPort}/live`);
  const jvm = { state: 'unavailable', source: null, reason: detail, since };
  expect(await live.body.json()).toMatchObject({ jvm });
  // Each reading is given up before the next one begins, so connections do not pile up.
  expect(server.sockets.size).toBeLessThanOrEqual(2);
  for (const socket of taken) expect(socket.bytesWritten).toBeLessThan(MAX_TAKEN_BYTES);
});
