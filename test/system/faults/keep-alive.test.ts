/** TCP keep-alive finds dead peers of held requests. Linux shows its timer in /proc/net/tcp. */
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { describe, it } from 'vitest';
import { until } from '../../support/comet/until.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { portOf } from '../../support/net.ts';
import { startConfigured } from '../../support/sidecar-process.ts';
import { useCertificates } from '../../support/tls/ends.ts';
import { RawUpstream } from '../../support/wire/raw-upstream.ts';

/** Timer of the connection, with its time: `02:` is that of keep-alive. */
const KEEP_ALIVE_TIMER = /^02:/;

/** Whether the end at `local` has a keep-alive timer. */
function isWatched(local: number, remote: number): boolean {
  const rows = readFileSync('/proc/net/tcp', 'latin1').split('\n');
  const [, , , , , timer = ''] = rows.map((row) => row.trim().split(/\s+/)).find(isBetween(local, remote)) ?? [];
  return KEEP_ALIVE_TIMER.test(timer);
}

function isBetween(local: number, remote: number): (columns: readonly string[]) => boolean {
  const portIn = (address = '') => Number.parseInt(address.split(':')[1] ?? '', 16);
  return ([, localAddress, remoteAddress]) => portIn(localAddress) === local && portIn(remoteAddress) === remote;
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
});
