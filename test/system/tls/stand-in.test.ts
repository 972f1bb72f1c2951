import { createPrivateKey, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Logger } from '../../../src/base/logger.ts';
import { ListenerTls } from '../../../src/tls/listener-tls.ts';
import { createStandIn } from '../../../src/tls/stand-in-certificate.ts';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';

const certificates = new CertificateFolder();
const own = certificates.signed(certificates.authority(), { name: 'plant' });
const folder = mkdtempSync(path.join(tmpdir(), 'd2s-stand-in-'));
afterAll(() => {
  certificates.remove();
  rmSync(folder, { recursive: true, force: true });
});

let lines: [level: string, details: unknown, message: unknown][];
beforeEach(() => {
  lines = [];
});
const note = (level: string) => (details: unknown, message?: unknown) => void lines.push([level, details, message]);
const logger: Logger = { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };

describe('a stand-in certificate', () => {
  it('is self-signed, valid now, and new with its own key each time', () => {
    const { cert, key } = createStandIn(systemClock);
    const parsed = new X509Certificate(cert);
    expect(parsed.subject).toBe('CN=d2-sidecar without its certificate');
    expect(parsed.issuer).toBe(parsed.subject);
    expect(parsed.verify(parsed.publicKey)).toBe(true);
    expect(parsed.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(Date.parse(parsed.validFrom)).toBeLessThan(systemClock.epochMs());
    expect(Date.parse(parsed.validTo)).toBeGreaterThan(systemClock.epochMs());
    expect(new X509Certificate(createStandIn(systemClock).cert).serialNumber).not.toBe(parsed.serialNumber);
  });

  it('trusts no client, logs its reason once, has no expiry, and goes when the files can be used', async () => {
    const keyFile = path.join(folder, 'key');
    const config = { certFile: own.certFile, keyFile, clientCaFile: undefined, clientAuth: 'request' } as const;
    const tls = await ListenerTls.openOrStandIn('monitor.tls', config, { clock: systemClock, logger });
    const { cert, ca } = tls.serverOptions(1_000);
    expect(ca).toBe(cert);
    expect(tls.files.trouble?.message).toBe(`monitor.tls.keyFile: ${keyFile} cannot be read: ENOENT`);
    expect(tls.numbers).toMatchObject({ notAfterEpochMs: undefined, unusable: 1, replaced: 0 });
    for (let look = 0; look < 3; look += 1) await tls.files.poll();
    expect(lines.map(([level, details]) => [level, details])).toEqual([
      ['error', { section: 'monitor.tls', code: 'D2S_ERR_TLS_FILE', reason: tls.files.trouble?.message }],
    ]);
    writeFileSync(keyFile, 'no key', { mode: 0o600 });
    await tls.files.poll();
    expect(tls.files.trouble?.code).toBe('D2S_ERR_CONFIG');
    writeFileSync(keyFile, readFileSync(own.keyFile));
    await tls.files.poll();
    expect(tls.files.trouble).toBeUndefined();
    expect(tls.serverOptions(1_000).cert).toBe(textOf(own.certFile));
    expect(tls.numbers).toMatchObject({ notAfterEpochMs: expect.any(Number), replaced: 1 });
  });
});
