/** Ambiguous ends: an answer without length or chunks is complete or not depending on how the upstream's connection ends. */
import type net from 'node:net';
import { expect, it } from 'vitest';
import { sumOf } from '../../support/monitor/prometheus/samples.ts';
import type { Peer } from '../../support/wire/peer.ts';
import { answering } from '../../support/wire/stand.ts';
import { atHeads, type FaultStand, GET, OK, startFaultStand, WEBSOCKET } from './fault-stand.ts';

const PART_OF_A_POST = 'POST /smartWeb/x HTTP/1.1\r\nHost: plant.example\r\nContent-Length: 1000\r\n\r\npart';
const HEAD = 'HTTP/1.1 200 OK\r\nX-A: b\r\n\r\n';

const REQUESTS = [
  ['a call', GET],
  // Like an upstream that refuses an upload, and closes with unread bytes.
  ['a call whose request is still being sent', PART_OF_A_POST],
  ['a WebSocket handshake', WEBSOCKET],
] as const;

let harness: FaultStand;

/** `leave` follows in the same turn as the last bytes, so that the sidecar reads both at once. */
async function answered(request: string, leave: (upstream: net.Socket) => void): Promise<Peer> {
  const script = (upstream: net.Socket) =>
    atHeads(upstream, () => {
      upstream.write(`${HEAD}begin `);
      setImmediate(() => {
        upstream.write('last');
        leave(upstream);
      });
    });
  harness = await startFaultStand({ script });
  const client = harness.client(request);
  await client.ended();
  return client;
}

async function endings(): Promise<(number | undefined)[]> {
  const samples = await harness.samples();
  const sum = (ending: string) => sumOf(samples, 'd2_sidecar_exchanges_total', `ending="${ending}"`);
  const incomplete = samples.get('d2_sidecar_upstream_failures_total{code="D2S_ERR_UPSTREAM_INCOMPLETE"}');
  return [sum('completed'), sum('failed'), incomplete];
}

it.each(REQUESTS)(
  'an answer to %s is broken off when a reset follows its last bytes at once',
  async (_what, request) => {
    await answered(request, (upstream) => upstream.resetAndDestroy());
    expect(await endings()).toEqual([0, 1, 1]);
  },
);

it.each(REQUESTS)(
  'an answer to %s is complete when the connection closes in order and is reset later',
  async (_what, request) => {
    const client = await answered(request, (upstream) => {
      upstream.end();
      setImmediate(() => upstream.resetAndDestroy());
    });
    expect(client.received).toMatch(/begin last$/);
    expect(await endings()).toEqual([1, 0, 0]);
  },
);

const LAST = OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n');

it.each([
  ['twice, marked as the last one', GET, LAST + LAST],
  ['to a WebSocket handshake, with rubbish after it', WEBSOCKET, `${OK}rubbish\r\n\r\n`],
])('an answer with an end of its own is passed on when it comes %s', async (_what, request, answer) => {
  harness = await startFaultStand({ script: answering(answer) });
  const client = harness.client(request);
  await client.until('fine');
  await expect.poll(endings).toEqual([1, 0, 0]);
  expect(client.received).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*\r\n\r\nfine$/);
});
