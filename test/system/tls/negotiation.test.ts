/** What TLS 1.2 and 1.3 negotiate beside the ciphers, on both listeners and with both kinds of keys. */
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';
import { connected, listenerTls, type SecureStand, startSecureStand } from '../../support/tls/secure-stand.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
afterAll(() => folder.remove());

describe.each(['ec', 'rsa'] as const)('with a key of the kind %s', (key) => {
  let stand: SecureStand;
  beforeAll(async () => {
    const listener = listenerTls(folder.signed(authority, { name: key, key }));
    stand = await startSecureStand((base) => ({
      listen: { ...base.listen, tls: listener },
      monitor: { ...base.monitor, tls: listener },
    }));
  });
  afterAll(() => stand.close());

  for (const [listener, name] of [
    ['port', 'the port for clients'],
    ['monitorPort', 'the monitoring port'],
  ] as const) {
    it(`${name} speaks http/1.1 and refuses clients with only HTTP/2`, async () => {
      const socket = await connected(stand[listener], authority, { ALPNProtocols: ['h2', 'http/1.1'] });
      expect(socket.alpnProtocol).toBe('http/1.1');
      socket.destroy();
      await expect(connected(stand[listener], authority, { ALPNProtocols: ['h2'] })).rejects.toThrow(
        /no application protocol/i,
      );
    });

    it(`${name} does not renegotiate`, async () => {
      const socket = await connected(stand[listener], authority, { maxVersion: 'TLSv1.2' });
      const error = await new Promise((resolve) => {
        socket.on('error', resolve).on('close', () => resolve('closed'));
        socket.renegotiate({ rejectUnauthorized: true }, resolve);
      });
      expect(error).not.toBeNull();
      socket.destroy();
    });
  }

  it('resumes sessions only on their own listener', async () => {
    const session = await new Promise<Buffer>((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', port: stand.port, ca: textOf(authority.certFile) });
      socket.on('error', reject);
      socket.once('session', (found) => {
        socket.destroy();
        resolve(found);
      });
    });
    const again = await connected(stand.port, authority, { session });
    expect(again.isSessionReused()).toBe(true);
    again.destroy();
    const elsewhere = await connected(stand.monitorPort, authority, { session });
    expect(elsewhere.isSessionReused()).toBe(false);
    elsewhere.destroy();
  });
});
