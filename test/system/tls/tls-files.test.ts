import { createPrivateKey } from 'node:crypto';
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { SidecarError } from '../../../src/base/errors.ts';
import type { TlsFiles } from '../../../src/tls/tls-files.ts';
import { pemOf, textOf } from '../../support/tls/certificates.ts';
import { loadTls, useCertificates } from '../../support/tls/ends.ts';

const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'plant' });
const other = folder.signed(authority, { name: 'other' });

const load = (files: Partial<TlsFiles>) => loadTls({ ...own, ...files });

async function errorOf(files: Partial<TlsFiles>): Promise<SidecarError> {
  const error: unknown = await load(files).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(SidecarError);
  return error as SidecarError;
}

describe('files that can be used', () => {
  it('become a server’s options without a warning', async () => {
    const material = await load({ caFile: authority.certFile });
    expect(material.options).toMatchObject({ ...pemOf(own), ca: textOf(authority.certFile), minVersion: 'TLSv1.2' });
    expect(material.warnings).toEqual([]);
    expect(material.warnOfTime()).toBeUndefined();
    expect((material.certificate?.notAfterEpochMs ?? 0) / 86_400_000).toBeCloseTo(Date.now() / 86_400_000 + 30, 0);
  });

  it('cause a warning when the certificate has expired, or every user can read the key, but are used', async () => {
    const expired = folder.signed(authority, { name: 'plant', days: -1 });
    expect((await load(expired)).warnOfTime()).toContain(`listen.tls.certFile: ${expired.certFile}: it expired on `);
    const open = folder.signed(authority, { name: 'plant' });
    chmodSync(open.keyFile, 0o644);
    expect((await load(open)).warnings).toEqual([
      `listen.tls.keyFile: ${open.keyFile} can be read by every user of this machine; chmod o= closes it`,
    ]);
  });
});

describe('files that cannot be read', () => {
  it.each([
    ['one that is not there', () => path.join(folder.folder, 'none'), 'ENOENT'],
    ['a folder', () => folder.folder, 'it is a folder, expected a regular file'],
    ['one that is too large', () => folder.file('large', 'x'.repeat(1_048_577)), 'it is larger than 1048576 bytes'],
  ])('name key, file and reason: %s', async (_what, make, reason) => {
    const file = make();
    for (const [key, files] of [
      ['certFile', { certFile: file }],
      ['keyFile', { keyFile: file }],
      ['clientCaFile', { caFile: file }],
    ] as const) {
      const { code, message } = await errorOf(files);
      expect([code, message]).toEqual(['D2S_ERR_TLS_FILE', `listen.tls.${key}: ${file} cannot be read: ${reason}`]);
    }
  });
});

describe('files that are wrong', () => {
  const pem = textOf(own.certFile);
  const text = folder.file('text', 's3cr3t');
  const broken = folder.file('broken', `${pem.slice(0, 100)}s3cr3t${pem.slice(106)}`);
  const encryption = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 's3cr3t' } as const;
  const encrypted = folder.file('encrypted', createPrivateKey(textOf(own.keyFile)).export(encryption) as string);
  const swapped = folder.file('swapped', textOf(authority.certFile) + pem);

  it.each<[string, Partial<TlsFiles>, string]>([
    ['a text without a certificate', { certFile: text }, 'holds no certificate, expected PEM (BEGIN CERTIFICATE)'],
    ['a broken certificate', { certFile: broken }, 'certificate 1 cannot be read: ERR_OSSL_'],
    ['a key in place of the certificate', { certFile: own.keyFile }, 'holds no certificate'],
    [
      'a certificate in place of the key',
      { keyFile: own.certFile },
      'holds no private key that can be read, expected PEM',
    ],
    [
      'an encrypted key',
      { keyFile: encrypted },
      'is encrypted, expected passphraseFile with its passphrase, or a key without one',
    ],
    ['the key of another', { keyFile: other.keyFile }, `does not belong to the certificate in ${own.certFile}`],
    [
      'a chain whose first is not ours',
      { certFile: swapped },
      `belongs to certificate 2 of ${swapped}, expected that one to be the first`,
    ],
    ['authorities without one', { caFile: text }, 'holds no certificate'],
  ])('are reported with key, file and reason: %s', async (_what, files, expected) => {
    const { code, message } = await errorOf(files);
    expect(code).toBe('D2S_ERR_CONFIG');
    expect(message).toContain(expected);
    expect(message).toMatch(/^listen\.tls\.(?:certFile|keyFile|clientCaFile): \//);
    expect(message).not.toContain('s3cr3t');
  });
});
