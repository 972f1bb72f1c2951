/** What a time limit counts from, what stops it, and that a client which leaves ends it. */

import net from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { RelayConnection, type RelayContext } from '../../../src/proxy/relay/relay-connection.ts';
import type { UpstreamListener } from '../../../src/proxy/upstream/upstream-connection.ts';
import { FakeResolver, NAME } from './fake-resolver.ts';
import { atHeads, FaultHarness, OK, sound } from './fault-stand.ts';

const GET = 'GET /smartWeb/x HTTP/1.1\r\nHost: plant.example\r\n\r\n';
const POST = 'POST /smartWeb/x HTTP/1.1\r\nHost: plant.example\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n';

let harness: FaultHarness | undefined;

afterEach(async () => {
  vi.restoreAllMocks();
  await harness?.close();
  harness = undefined;
});

const impatient = ({ upstream }: Config) => ({ upstream: { ...upstream, responseTimeoutMs: 60 } });

for (const dataPath of ['auto', 'gateway'] as const) {
  describe(`dataPath ${dataPath}: upstream.responseTimeout`, () => {
    it('stops at an interim answer, since the upstream has begun to answer', async () => {
      harness = await FaultHarness.start({
        ...{ dataPath, config: impatient },
        script: (upstream) =>
          atHeads(upstream, () => {
            upstream.write('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n');
            setTimeout(() => upstream.write(OK), 240);
          }),
      });
      const client = harness.client(GET);
      await client.until('fine');
      expect(client.received).toMatch(/^HTTP\/1\.1 103 [\s\S]*HTTP\/1\.1 200 OK/);
    });

    it('does not stop at a 100, which only asks for the body', async () => {
      harness = await FaultHarness.start({
        ...{ dataPath, config: impatient },
        script: (upstream) => {
          let text = '';
          upstream.on('data', (bytes: Buffer) => {
            text += bytes.toString('latin1');
            if (text.endsWith('body')) setImmediate(() => upstream.write('HTTP/1.1 100 Continue\r\n\r\n'));
          });
        },
      });
      // Sent without waiting, so that the limit already runs when the 100 arrives.
      const client = harness.client(`${POST}body`);
      await client.until('"code":"D2S_ERR_UPSTREAM_TIMEOUT"');
      expect(client.received).toMatch(/^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 504 /);
    });
  });

  describe(`dataPath ${dataPath}: a client that leaves while the upstream is being connected`, () => {
    it.each(['reset', 'destroy'] as const)('cancels the connection (%s)', async (how) => {
      const resolver = new FakeResolver();
      const config = ({ upstream, timeouts }: Config) => ({
        upstream: { ...upstream, host: NAME },
        timeouts: { ...timeouts, halfClosedMs: 30 },
      });
      harness = await FaultHarness.start({ dataPath, config, script: sound });
      const client = harness.client(GET);
      const { sidecar } = harness;
      await expect.poll(() => resolver.asked).toBe(1);
      if (how === 'reset') client.socket.resetAndDestroy();
      else client.socket.destroy();
      await expect.poll(() => sidecar.openExchanges).toBe(0);
      await expect.poll(() => sidecar.dispatcher.openConnections).toBe(0);
      resolver.release();
      // The next client gets through, so an attempt for the first would have arrived before it.
      resolver.answer = resolver.loopback;
      await harness.client(GET).until('fine');
      expect(harness.upstream.scripted).toHaveLength(1);
      const path = dataPath === 'auto' ? 'relay' : 'gateway';
      expect(sidecar.recorder.own.read().exchanges[path]).toEqual({
        completed: 1,
        failed: 0,
        cancelled: 1,
        denied: 0,
      });
    });
  });
}

describe('the relay’s limit for idle connections', () => {
  /** An upstream connection that reads nothing until the test says so. */
  class FullUpstream extends Duplex {
    readonly connecting = false;

    constructor() {
      super({ highWaterMark: 1 });
    }

    override _read(): void {}

    setKeepAlive(): void {}

    override _write(_chunk: Buffer, _encoding: string, _done: () => void): void {}
  }

  it('starts anew after a wait for the upstream, which does not count as idle', async () => {
    harness = await FaultHarness.start({ dataPath: 'auto', script: sound });
    const { services } = harness.sidecar.dispatcher;
    const upstream = new FullUpstream() as unknown as net.Socket;
    let listener: UpstreamListener | undefined;
    const context: RelayContext = {
      services: {
        ...services,
        options: { ...services.options, idleTimeoutMs: 40 },
        upstream: {
          connect: (given: UpstreamListener) => {
            listener = given;
            return { socket: upstream };
          },
        } as unknown as RelayContext['services']['upstream'],
      },
      isDraining: false,
      onIrregular: () => undefined,
      onRelayClosed: () => undefined,
    };
    const server = net.createServer((socket) => {
      const client = { remoteAddress: '127.0.0.1', remotePort: 1, secure: false };
      new RelayConnection(socket, client, context);
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const client = net.connect((server.address() as net.AddressInfo).port, '127.0.0.1');
    client.on('error', () => undefined);
    let isClosed = false;
    client.on('close', () => {
      isClosed = true;
    });
    try {
      client.write('POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\nhalf');
      await expect.poll(() => upstream.writableNeedDrain).toBe(true);
      // Several times the limit: while the upstream does not read, the client cannot send.
      await new Promise((resolve) => setTimeout(resolve, 200));
      expect(isClosed).toBe(false);
      listener?.onUpstreamDrain(upstream);
      await expect.poll(() => isClosed).toBe(true);
    } finally {
      client.destroy();
      upstream.destroy();
      server.close();
    }
  });
});
