/** TCP keep-alive finds dead peers of held requests. Linux shows its timer in /proc/net/tcp. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { describe, expect, it } from 'vitest';
import { keepAlive } from '../../../src/proxy/relay/silence-watch.ts';
import { until } from '../../support/comet/until.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { portOf } from '../../support/net.ts';
import { startConfigured } from '../../support/sidecar-process.ts';
import { useCertificates } from '../../support/tls/ends.ts';
import { RawUpstream } from '../../support/wire/raw-upstream.ts';

/** Whether the end at `local` has a keep-alive timer: `02:` and its time. */
function isWatched(local: number, remote: number): boolean {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, '0');
  const row = new RegExp(`: \\w+:${hex(local)} \\w+:${hex(remote)} \\w\\w \\S+ 02:`);
  return row.test(readFileSync('/proc/net/tcp', 'latin1'));
}

describe.runIf(process.platform === 'linux')('TCP keep-alive', () => {
  const certificates = useCertificates();
  const authority = certificates.authority();

  it.each(['http', 'https'])('watches the client and the server of a held request: %s', async (scheme) => {
    const isSecure = scheme === 'https';
    const server = new RawUpstream(isSecure ? certificates.signed(authority, { name: 'd2' }) : undefined);
    let upstreamPort = 0;
    await server.comeUp((socket) => socket.once('data', () => (upstreamPort = socket.remotePort ?? 0)));
    untilTestEnds(() => server.goDown());
    const sidecar = await startConfigured(untilTestEnds, `${scheme}://127.0.0.1:${server.port}/smartWeb`, {
      upstream: isSecure ? { tls: { caFile: authority.certFile } } : {},
      // The relay looks at its connections four times within this time.
      timeouts: { idle: '2s' },
    });
    const listenPort = portOf(sidecar.listen);
    const client = net.connect(listenPort, '127.0.0.1');
    untilTestEnds(() => client.destroy());
    client.write('GET /smartWeb/held HTTP/1.1\r\nHost: d2\r\n\r\n');
    await until('the server has the request', () => upstreamPort !== 0);
    await until('the client is watched', () => isWatched(listenPort, client.localPort ?? 0));
    await until('the server is watched', () => isWatched(upstreamPort, server.port));
  });

  it('leaves sockets their shape: V8 is slow with sockets of more than four', async () => {
    setFlagsFromString('--allow-natives-syntax');
    const haveOneShape = new Function('a', 'b', 'return %HaveSameMap(a, b)') as (a: object, b: object) => boolean;
    const server = new RawUpstream();
    await server.comeUp();
    untilTestEnds(() => server.goDown());
    const sockets = [net.connect(server.port, '127.0.0.1'), net.connect(server.port, '127.0.0.1')] as const;
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    keepAlive(sockets[0]);
    expect(haveOneShape(...sockets)).toBe(true);
    for (const socket of sockets) socket.destroy();
  });
});
