/** What both listeners negotiate, and refuse to negotiate, with both kinds of keys. */
import type tls from 'node:tls';
import { afterAll, describe, expect, it } from 'vitest';
import { CIPHERS } from '../../../src/tls/policy.ts';
import { connected, listenerTls, useCertificates } from '../../support/tls/ends.ts';
import { startStand } from '../../support/wire/stand.ts';

const folder = useCertificates();
const authority = folder.authority();
const ALL = 'ALL:COMPLEMENTOFALL:@SECLEVEL=0';
const OURS = CIPHERS.filter((name) => !name.startsWith('TLS_'));
const OLD = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: ALL } as const;
/** What a scanner offers that must be refused. */
const REFUSED: readonly (readonly [what: string, offer: tls.ConnectionOptions, alert: RegExp])[] = [
  ['TLS 1.0', { ...OLD, maxVersion: 'TLSv1' }, /alert protocol version/],
  ['TLS 1.1', OLD, /alert protocol version/],
  ['other ciphers', { maxVersion: 'TLSv1.2', ciphers: `${ALL}:!${OURS.join(':!')}` }, /handshake failure/],
];

describe.each(['ec', 'rsa'] as const)('with a key of the kind %s', async (key) => {
  const tls = listenerTls(folder.signed(authority, { name: key, key }));
  const stand = await startStand({
    config: ({ listen, monitor }) => ({ listen: { ...listen, tls }, monitor: { ...monitor, tls } }),
  });
  afterAll(() => stand.close());

  describe.each(['port', 'monitorPort'] as const)('the %s', (listener) => {
    it('speaks only http/1.1, and does not renegotiate', async () => {
      const socket = await connected(stand[listener], authority, { ALPNProtocols: ['h2', 'http/1.1'] });
      expect(socket.alpnProtocol).toBe('http/1.1');
      socket.destroy();
      const withHttp2Only = connected(stand[listener], authority, { ALPNProtocols: ['h2'] });
      await expect(withHttp2Only).rejects.toThrow(/no application protocol/i);
      const old = await connected(stand[listener], authority, { maxVersion: 'TLSv1.2' });
      const error = await new Promise((resolve) => {
        old.on('error', resolve).on('close', () => resolve('closed'));
        old.renegotiate({ rejectUnauthorized: true }, resolve);
      });
      expect(error).not.toBeNull();
      old.destroy();
    });

    it.each(REFUSED)('refuses %s', async (_, offer, alert) => {
      await expect(connected(stand[listener], authority, offer)).rejects.toThrow(alert);
    });

    it('takes all our ciphers for that key', async () => {
      const kind = key === 'ec' ? 'ECDSA' : 'RSA';
      for (const wanted of CIPHERS.filter((cipher) => cipher.startsWith('TLS_') || cipher.includes(kind))) {
        const maxVersion = wanted.startsWith('TLS_') ? 'TLSv1.3' : 'TLSv1.2';
        const socket = await connected(stand[listener], authority, { ciphers: wanted, maxVersion });
        expect(socket.getCipher().name).toBe(wanted);
        socket.destroy();
      }
    });
  });

  it('resumes sessions only on their own listener', async () => {
    const first = await connected(stand.port, authority);
    const session = await new Promise<Buffer>((resolve) => first.once('session', resolve));
    const again = await connected(stand.port, authority, { session });
    const elsewhere = await connected(stand.monitorPort, authority, { session });
    expect([again.isSessionReused(), elsewhere.isSessionReused()]).toEqual([true, false]);
    for (const socket of [first, again, elsewhere]) socket.destroy();
  });
});
