import { writeFileSync } from 'node:fs';
import type net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Config, UpstreamTlsConfig } from '../../../src/config/config.ts';
import { listening } from '../../support/net.ts';
import { CertificateFolder, pemOf, textOf, type Wanted } from '../../support/tls/certificates.ts';
import { get, upstreamTls } from '../../support/tls/ends.ts';
import { type Stand, startStand } from '../../support/wire/stand.ts';
import { testConfig } from '../../support/wire/test-config.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
const another = folder.authority('another');
const own = folder.signed(authority, { name: 'plant' });
const sidecarOwn = folder.signed(authority, { name: 'd2-sidecar', usage: 'clientAuth' });

const ASKING: tls.TlsOptions = { requestCert: true, rejectUnauthorized: true, ca: textOf(authority.certFile) };

let stand: Stand;
let server: net.Server;
let names: (string | false | null)[] = [];
const sockets = new Set<net.Socket>();

afterEach(async () => {
  await stand.close();
  for (const socket of sockets) socket.destroy();
  server?.close();
  names = [];
});

afterAll(() => folder.remove());

/** An upstream that answers each read, behind TLS, with `ok`. */
async function secureUpstream(pair = own, more: tls.TlsOptions = {}): Promise<number> {
  const secure = tls.createServer({ ...pemOf(pair), ...more });
  secure.on('connection', (socket) => sockets.add(socket));
  secure.on('tlsClientError', (_error, socket) => socket.destroy());
  secure.on('secureConnection', (socket) => {
    names.push(socket.servername);
    socket.on('error', () => undefined);
    socket.on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'));
  });
  server = secure;
  return await listening(secure);
}

/** An upstream with another certificate. */
function signed(wanted: Partial<Wanted>): Promise<number> {
  return secureUpstream(folder.signed(authority, { name: 'plant', ...wanted }));
}

async function start(
  port: number,
  tls: Partial<UpstreamTlsConfig> = {},
  more: Partial<Config> & { readonly host?: string } = {},
): Promise<void> {
  const { host = '127.0.0.1', ...rest } = more;
  const config = ({ upstream }: Config) => ({
    upstream: { ...upstream, host, tls: upstreamTls(authority, tls) },
    ...rest,
  });
  stand = await startStand({ upstreamPort: port, config });
}

const ask = () => get(stand.port, '/secret-path');
const warnings = () => stand.logged.filter(({ level }) => level === 'warn').map(({ details }) => details);

describe('an upstream', () => {
  it.each([
    ['serverName', 'smartweb.plant', '127.0.0.1'],
    ['the host of upstream.url', 'localhost', 'localhost'],
  ])('is asked and verified by %s', async (_what, name, host) => {
    const serverName = name === host ? undefined : name;
    await start(await signed({ alternatives: `DNS:${name}` }), { serverName }, { host });
    expect((await ask()).body).toBe('ok');
    expect(names).toEqual([name]);
  });

  it('is not verified if verification is off, with a warning', async () => {
    const unverified = { caFile: another.certFile, serverName: 'other', verify: false };
    await start(await secureUpstream(), unverified);
    expect((await ask()).body).toBe('ok');
    expect(warnings()).toEqual([expect.stringContaining('upstream.tls.verify is false')]);
  });

  it('is verified by replaced authorities from then on, and gets our certificate if it asks', async () => {
    const caFile = folder.file('upstream-ca.pem', textOf(another.certFile));
    await start(await secureUpstream(own, ASKING), { ...sidecarOwn, caFile });
    expect((await ask()).status).toBe(502);
    writeFileSync(caFile, textOf(authority.certFile));
    await stand.sidecar.tls.upstream?.files.poll();
    expect((await ask()).status).toBe(200);
  });

  it('is verified by a changed configuration from then on', async () => {
    await start(await signed({ alternatives: 'DNS:smartweb.plant' }), { serverName: 'smartweb.plant' });
    const statuses: number[] = [];
    for (const [serverName, verify] of [
      ['other.plant', true],
      [undefined, true],
      [undefined, false],
      ['smartweb.plant', true],
    ] as const) {
      (await stand.sidecar.tls.upstream?.prepareReload(upstreamTls(authority, { serverName, verify })))?.();
      statuses.push((await ask()).status);
    }
    expect(statuses).toEqual([502, 502, 200, 200]);
    expect(warnings().filter((details) => String(details).includes('upstream.tls.verify is false'))).toHaveLength(1);
  });
});

it.each([
  ['by TLS', {}, 200],
  ['and its certificate is refused', { caFile: another.certFile }, 503],
])('whether the upstream is ready is asked %s', async (_, tls, status) => {
  const monitor = { ...testConfig().monitor, readyWithUpstream: true };
  await start(await secureUpstream(), tls, { monitor });
  expect((await get(stand.monitorPort, '/readyz')).status).toBe(status);
});
