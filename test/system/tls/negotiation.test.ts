/** What TLS 1.2 and 1.3 negotiate beside the ciphers, on both listeners and with both kinds of keys. */
import { afterAll, describe, expect, it } from 'vitest';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import { connected, listenerTls } from '../../support/tls/ends.ts';
import { startStand } from '../../support/wire/stand.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
afterAll(() => folder.remove());

describe.each(['ec', 'rsa'] as const)('with a key of the kind %s', async (key) => {
  const tls = listenerTls(folder.signed(authority, { name: key, key }));
  const stand = await startStand({
    config: ({ listen, monitor }) => ({ listen: { ...listen, tls }, monitor: { ...monitor, tls } }),
  });
  afterAll(() => stand.close());

  it.each(['port', 'monitorPort'] as const)(
    'the %s speaks only http/1.1, and does not renegotiate',
    async (listener) => {
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
    },
  );

  it('resumes sessions only on their own listener', async () => {
    const first = await connected(stand.port, authority);
    const session = await new Promise<Buffer>((resolve) => first.once('session', resolve));
    const again = await connected(stand.port, authority, { session });
    const elsewhere = await connected(stand.monitorPort, authority, { session });
    expect([again.isSessionReused(), elsewhere.isSessionReused()]).toEqual([true, false]);
    for (const socket of [first, again, elsewhere]) socket.destroy();
  });
});
