/** The event loop is blocked for longer than a time limit, while the other side has met the limit in time. */
import net from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { turns } from '../../support/wire/split-writer.ts';
import { GET, OK, sound, startFaultStand } from './fault-stand.ts';

const LIMIT_MS = 150;

/** The kernel meanwhile takes connections, and what has been sent on them. */
function block(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * LIMIT_MS);
}

describe.each(['auto', 'gateway'] as const)('dataPath %s: a blocked event loop', (dataPath) => {
  it('does not time out a connection that was established in time', async () => {
    const { client } = await startFaultStand({
      ...{ dataPath, script: sound },
      config: ({ upstream }) => ({ upstream: { ...upstream, connectTimeoutMs: LIMIT_MS } }),
    });
    const peer = client();
    await turns(3);
    const { connect } = net.Socket.prototype;
    onTestFinished(() => void vi.restoreAllMocks());
    const connecting = vi.spyOn(net.Socket.prototype, 'connect');
    connecting.mockImplementationOnce(function (this: net.Socket, ...parameters) {
      // In the turn of the connect call, so that the connection is established when the loop looks again.
      setImmediate(block);
      return connect.apply(this, parameters);
    });
    peer.send(GET);
    expect(await peer.until(/fine|code/)).toBe(OK);
    expect(connecting).toHaveBeenCalledOnce();
  });
});

it('with dataPath auto a blocked event loop does not time out a head that arrived in time', async () => {
  const { client } = await startFaultStand({
    ...{ dataPath: 'auto', script: sound },
    config: ({ timeouts }) => ({ timeouts: { ...timeouts, headMs: LIMIT_MS } }),
  });
  const peer = client(GET);
  await peer.take(OK);
  peer.send(GET.slice(0, 20));
  // The beginning of the head has been read and its time runs: the other side has nothing left to send.
  await turns(50);
  peer.send(GET.slice(20));
  block();
  expect(await peer.until(/fine|code/)).toBe(OK);
});
