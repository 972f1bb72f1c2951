/** What a scanner would find: openssl offers both listeners what they must refuse. */
import { execFile, spawnSync } from 'node:child_process';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CIPHERS } from '../../../src/tls/policy.ts';
import { listening } from '../../support/net.ts';
import { isAvailable } from '../../support/programs.ts';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';
import { listenerTls } from '../../support/tls/ends.ts';
import { type Stand, startStand } from '../../support/wire/stand.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
/** Certificates by the kind of their key, which determines the ciphers of TLS 1.2. */
const pairs = {
  ECDSA: folder.signed(authority, { name: 'ec', key: 'ec' }),
  RSA: folder.signed(authority, { name: 'rsa', key: 'rsa' }),
} as const;

const ALL = 'ALL:COMPLEMENTOFALL:@SECLEVEL=0';
// Its output is null without openssl.
const { stdout } = spawnSync('openssl', ['ciphers', '-s', '-tls1_2', ALL], { encoding: 'utf8' });
const OFFERED = (stdout ?? '').trim().split(':');
const isInstalled = isAvailable('openssl', OFFERED.length > 1);
const WEAK = OFFERED.filter((name) => !CIPHERS.includes(name) && !name.startsWith('TLS_') && !/PSK|SRP/.test(name));
const OLD = ['-tls1', '-tls1_1'] as const;

afterAll(() => folder.remove());

describe.runIf(isInstalled)('both listeners', () => {
  it('are offered many weak ciphers, which a permissive server accepts', async () => {
    expect(WEAK.length).toBeGreaterThan(30);
    expect(WEAK).toEqual(expect.arrayContaining(['ECDHE-RSA-AES128-SHA256', 'AES128-GCM-SHA256']));
    const { certFile, keyFile } = pairs.RSA;
    const lax = tls.createServer({ cert: textOf(certFile), key: textOf(keyFile), minVersion: 'TLSv1', ciphers: ALL });
    lax.on('tlsClientError', () => undefined);
    lax.on('secureConnection', (socket) => socket.on('error', () => undefined));
    const port = await listening(lax);
    const weak = await sClient(port, '-tls1_2', '-cipher', `${WEAK.join(':')}:@SECLEVEL=0`);
    expect(WEAK).toContain(weak.cipher);
    for (const version of OLD) expect((await sClient(port, version, '-cipher', ALL)).cipher).toBeDefined();
    lax.close();
  });

  for (const [kind, pair] of Object.entries(pairs)) {
    describe(`with a key for ${kind}`, () => {
      let stand: Stand;
      beforeAll(async () => {
        const tls = listenerTls(pair);
        stand = await startStand({
          config: ({ listen, monitor }) => ({ listen: { ...listen, tls }, monitor: { ...monitor, tls } }),
        });
      });
      afterAll(() => stand.close());

      describe.each([
        ['the port for clients', 'port'],
        ['the monitoring port', 'monitorPort'],
      ] as const)('%s', (_, listener) => {
        it.each([
          ...OLD.map((version) => [version, [version, '-cipher', ALL], /alert protocol version/] as const),
          ['a weak cipher', ['-tls1_2', '-cipher', `${WEAK.join(':')}:@SECLEVEL=0`], /handshake failure/] as const,
        ])('refuses %s', async (_what, parameters, alert) => {
          const { cipher, text } = await sClient(stand[listener], ...parameters);
          expect(cipher).toBeUndefined();
          expect(text).toMatch(alert);
        });

        it('takes all our ciphers for that key', async () => {
          for (const wanted of CIPHERS.filter((cipher) => cipher.startsWith('TLS_') || cipher.includes(kind))) {
            const how = wanted.startsWith('TLS_') ? ['-tls1_3', '-ciphersuites'] : ['-tls1_2', '-cipher'];
            expect((await sClient(stand[listener], ...how, wanted)).cipher).toBe(wanted);
          }
        });
      });
    });
  }
});

/** The cipher of a handshake by `openssl s_client`; undefined if it failed. */
async function sClient(port: number, ...parameters: string[]): Promise<{ cipher: string | undefined; text: string }> {
  const all = ['s_client', '-connect', `127.0.0.1:${port}`, '-brief', ...parameters];
  const text = await new Promise<string>((resolve) => {
    const child = execFile('openssl', all, { encoding: 'utf8' }, (_error, stdout, stderr) => resolve(stdout + stderr));
    child.stdin?.end();
  });
  return { cipher: /^Ciphersuite: (\S+)$/m.exec(text)?.[1], text };
}
