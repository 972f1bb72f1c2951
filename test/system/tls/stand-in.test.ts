import { createPrivateKey, X509Certificate } from 'node:crypto';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ListenerTls } from '../../../src/tls/listener-tls.ts';
import { createStandIn, WatchedTls } from '../../../src/tls/watched-tls.ts';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

const folder = new CertificateFolder();
const own = folder.signed(folder.authority(), { name: 'plant' });
afterAll(() => folder.remove());

describe('a stand-in certificate', () => {
  it('is self-signed, valid now, and new with its own key each time', async () => {
    const { cert, key } = await createStandIn(systemClock);
    const parsed = new X509Certificate(cert);
    expect(parsed.subject).toBe('CN=d2-sidecar without its certificate');
    expect(parsed.issuer).toBe(parsed.subject);
    expect(parsed.verify(parsed.publicKey)).toBe(true);
    expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(Date.parse(parsed.validFrom)).toBeLessThan(systemClock.epochMs());
    expect(Date.parse(parsed.validTo)).toBeGreaterThan(systemClock.epochMs());
    expect(new X509Certificate((await createStandIn(systemClock)).cert).serialNumber).not.toBe(parsed.serialNumber);
  });

  it('trusts no client, logs its reason once, has no expiry, and goes when the files can be used', async () => {
    const { logger, logged } = recordingLogger();
    const keyFile = path.join(folder.folder, 'key');
    const config = { certFile: own.certFile, keyFile, clientCaFile: undefined, clientAuth: 'request' } as const;
    const tls = await ListenerTls.open('monitor.tls', config, { clock: systemClock, logger }, WatchedTls.openOrStandIn);
    const { cert, ca } = tls.serverOptions(1_000);
    expect(ca).toBe(cert);
    const reason = `monitor.tls.keyFile: ${keyFile} cannot be read: ENOENT`;
    expect(tls.files.trouble?.message).toBe(reason);
    expect(tls.numbers).toMatchObject({ notAfterEpochMs: undefined, unusable: 1, replaced: 0 });
    for (let look = 0; look < 3; look += 1) await tls.files.poll();
    const details = { section: 'monitor.tls', code: 'D2S_ERR_TLS_FILE', reason };
    expect(logged).toEqual([expect.objectContaining({ level: 'error', details })]);
    folder.file('key', 'no key');
    await tls.files.poll();
    expect(tls.files.trouble?.code).toBe('D2S_ERR_CONFIG');
    folder.file('key', textOf(own.keyFile));
    await tls.files.poll();
    expect(tls.files.trouble).toBeUndefined();
    expect(tls.serverOptions(1_000).cert).toBe(textOf(own.certFile));
    expect(tls.numbers).toMatchObject({ notAfterEpochMs: expect.any(Number), replaced: 1 });
  });
});
