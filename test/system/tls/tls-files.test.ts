/**
 * PEM files as Windows editors, pasted text and joins leave them. A file that is accepted serves its whole chain, and
 * openssl reads it, too; any other is refused with file and line.
 */
import { execFileSync } from 'node:child_process';
import { createPrivateKey } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { expect, it } from 'vitest';
import { ConfigError, SidecarError } from '../../../src/base/errors.ts';
import type { TlsFiles } from '../../../src/tls/tls-files.ts';
import { listening } from '../../support/net.ts';
import { pemOf, textOf } from '../../support/tls/certificates.ts';
import { connected, loadTls, useCertificates } from '../../support/tls/ends.ts';

const folder = useCertificates();
const root = folder.authority('root');
const middle = folder.authority('middle', root);
const lowest = folder.authority('lowest', middle);
const own = folder.signed(lowest, { name: 'localhost' });
const CHAIN = [own, lowest, middle].map(({ certFile }) => textOf(certFile));
const KEY = textOf(own.keyFile);
const CERT = CHAIN.join('');

const BOM = '\ufeff';
const crlf = (text: string) => text.replaceAll('\n', '\r\n');
const utf8 = (text: string) => Buffer.from(text, 'utf8');
const indent = (text: string) => text.replace(/^(?=.)/gm, '  ');

/** Each mutation of a PEM text, and whether it can be used whole. */
const MUTATIONS: readonly [name: string, mutate: (text: string) => Buffer, isUsable: boolean][] = [
  ['as it is', utf8, true],
  ['CRLF', (text) => utf8(crlf(text)), true],
  ['no line end at the end', (text) => utf8(text.trimEnd()), true],
  ['blanks behind its lines', (text) => utf8(text.replaceAll('\n', ' \t\n')), true],
  ['text on lines around', (text) => utf8(`# paste -----BEGIN CERTIFICATE----- here: Přístroj\n${text}  end\n`), true],
  ['a byte order mark and CRLF', (text) => utf8(BOM + crlf(text)), true],
  ['UTF-16', (text) => Buffer.from(BOM + text, 'utf16le'), false],
  ['indented', (text) => utf8(indent(text)), false],
  ['text before the first line', (text) => utf8(`cert: ${text}`), false],
  ['text behind the last line', (text) => utf8(`${text.trimEnd()} end\n`), false],
  ['cut in its last block', (text) => utf8(text.trimEnd().split('\n').slice(0, -2).join('\n')), false],
  ['without its first line', (text) => utf8(text.slice(text.indexOf('\n') + 1)), false],
  ['lines joined', (text) => utf8(text.replaceAll('\n', '')), false],
  ['a broken letter', (text) => utf8(text.replace(/M(?=I)/, '!')), false],
];
/** Of a file with several blocks. */
const JOINS: typeof MUTATIONS = [
  ['joined without a line end', (text) => utf8(text.replaceAll(/-----\n-----BEGIN/g, '----------BEGIN')), false],
  ['the second block indented', (text) => utf8(CHAIN[0] + indent(text.slice(CHAIN[0]?.length))), false],
  ['a byte order mark between blocks', (text) => utf8(text.replace(/\n-----BEGIN/, `\n${BOM}-----BEGIN`)), false],
  ['text between blocks', (text) => utf8(text.replaceAll(/\n-----BEGIN/g, '\nsubject=CN = é\n\n-----BEGIN')), true],
];

const load = (files: Partial<TlsFiles>) => loadTls({ ...own, ...files });

/** How many certificates a server with these options sends; throws if the client does not accept them by `root`. */
async function handshake(options: tls.TlsOptions): Promise<number> {
  const server = tls.createServer(options, (socket) => socket.end());
  server.on('tlsClientError', () => undefined);
  const port = await listening(server);
  try {
    const client = await connected(port, root, { servername: 'localhost' });
    let count = 0;
    for (let at = client.getPeerX509Certificate(); at !== undefined; at = at.issuerCertificate) count += 1;
    client.destroy();
    return count;
  } finally {
    server.close();
  }
}

let count = 0;
function write(bytes: Buffer): string {
  count += 1;
  const file = folder.file(`mutated-${count}.pem`, '');
  writeFileSync(file, bytes);
  return file;
}

function opensslReads(file: string, args: readonly string[]): boolean {
  try {
    execFileSync('openssl', [...args, '-in', file], { stdio: ['ignore', 'pipe', 'ignore'] });
    return true;
  } catch {
    return false;
  }
}

async function expectRefused(files: Partial<TlsFiles>, file: string): Promise<void> {
  const error = await errorOf(files);
  expect(error).toBeInstanceOf(ConfigError);
  expect(error.message).toMatch(/^listen\.tls\.(?:certFile|keyFile|clientCaFile): /);
  expect(error.message).toMatch(new RegExp(`${file}:\\d+`));
}

it.each([...MUTATIONS, ...JOINS])('a chain: %s', async (_name, mutate, isUsable) => {
  const certFile = write(mutate(CERT));
  if (!isUsable) return await expectRefused({ certFile }, certFile);
  const { options } = await load({ certFile });
  expect(await handshake(options)).toBe(CHAIN.length);
  expect(await handshake({ cert: options.cert, key: KEY })).toBe(CHAIN.length);
  expect(opensslReads(certFile, ['x509', '-noout'])).toBe(true);
});

it.each(MUTATIONS)('a key: %s', async (_name, mutate, isUsable) => {
  const keyFile = write(mutate(KEY));
  if (!isUsable) return await expectRefused({ keyFile }, keyFile);
  const certFile = write(utf8(CERT));
  expect(await handshake((await load({ certFile, keyFile })).options)).toBe(CHAIN.length);
  expect(opensslReads(keyFile, ['pkey', '-noout'])).toBe(true);
});

it('key and chain may be in one file, in any order, and authorities are read with text between them', async () => {
  for (const text of [KEY + CERT, CERT + KEY]) {
    const file = write(utf8(text));
    expect(await handshake((await load({ certFile: file, keyFile: file })).options)).toBe(CHAIN.length);
  }
  expect((await load({ caFile: write(utf8(`${BOM}# ours\n${crlf(CERT)}`)) })).options.ca).toBe(CERT);
  const caFile = write(utf8(`${CHAIN[0]}${indent(CHAIN[1] ?? '')}`));
  await expectRefused({ caFile }, caFile);
});

it('DER as PEM, PEM as PKCS #12, and a second key are named as what they are', async () => {
  const der = write(Buffer.from(CHAIN[0]?.replace(/-----[^-]*-----|\s/g, '') ?? '', 'base64'));
  await expect(load({ certFile: der })).rejects.toThrow(`${der}:1: is binary (DER or PKCS #12), expected PEM`);
  const files = { certFile: undefined, keyFile: undefined, pfxFile: own.certFile };
  await expect(load(files)).rejects.toThrow(`listen.tls.pfxFile: ${own.certFile}:1: is PEM, expected PKCS #12`);
  const twice = write(utf8(KEY + KEY));
  const line = KEY.split('\n').length;
  await expect(load({ keyFile: twice })).rejects.toThrow(`${twice}:${line} holds a second private key, expected one`);
});

const other = folder.signed(lowest, { name: 'other' });

async function errorOf(files: Partial<TlsFiles>): Promise<SidecarError> {
  const error: unknown = await load(files).catch((cause: unknown) => cause);
  expect(error).toBeInstanceOf(SidecarError);
  return error as SidecarError;
}

it('files that can be used become a server’s options, with a warning when every user can read the key', async () => {
  const material = await load({ caFile: lowest.certFile });
  expect(material.options).toMatchObject({ ...pemOf(own), ca: textOf(lowest.certFile), minVersion: 'TLSv1.2' });
  expect([material.warnings, material.warnOfTime()]).toEqual([[], undefined]);
  expect((material.certificate?.notAfterEpochMs ?? 0) / 86_400_000).toBeCloseTo(Date.now() / 86_400_000 + 30, 0);
  const open = folder.signed(lowest, { name: 'plant' });
  chmodSync(open.keyFile, 0o644);
  expect((await load(open)).warnings).toEqual([
    `listen.tls.keyFile: ${open.keyFile} can be read by every user of this machine; chmod o= closes it`,
  ]);
});

it.each([
  ['one that is not there', () => path.join(folder.folder, 'none'), 'ENOENT'],
  ['a folder', () => folder.folder, 'it is a folder, expected a regular file'],
  ['one that is too large', () => folder.file('large', 'x'.repeat(1_048_577)), 'it is larger than 1048576 bytes'],
])('files that cannot be read name key, file and reason: %s', async (_what, make, reason) => {
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

const pem = textOf(own.certFile);
const text = folder.file('text', 's3cr3t');
const broken = folder.file('broken', `${pem.slice(0, 40)}s3cr3t${pem.slice(46)}`);
const encryption = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 's3cr3t' } as const;
const encrypted = folder.file('encrypted', createPrivateKey(textOf(own.keyFile)).export(encryption) as string);
const swapped = folder.file('swapped', textOf(lowest.certFile) + pem);

it.each<[what: string, files: Partial<TlsFiles>, reason: string]>([
  ['a text without a certificate', { certFile: text }, 'holds no certificate, expected PEM (BEGIN CERTIFICATE)'],
  ['a broken certificate', { certFile: broken }, 'certificate 1 cannot be read: ERR_OSSL_'],
  ['a key in place of the certificate', { certFile: own.keyFile }, 'holds no certificate'],
  [
    'a certificate in place of the key',
    { keyFile: own.certFile },
    'holds no private key that can be read, expected PEM',
  ],
  ['an encrypted key', { keyFile: encrypted }, 'is encrypted, expected passphraseFile with its passphrase, or a key'],
  ['the key of another', { keyFile: other.keyFile }, `does not belong to the certificate in ${own.certFile}`],
  [
    'a chain whose first is not ours',
    { certFile: swapped },
    `belongs to certificate 2 of ${swapped}, expected that one`,
  ],
  ['authorities without one', { caFile: text }, 'holds no certificate'],
])('wrong files are reported with key, file and reason: %s', async (_what, files, expected) => {
  const { code, message } = await errorOf(files);
  expect(code).toBe('D2S_ERR_CONFIG');
  expect(message).toContain(expected);
  expect(message).toMatch(/^listen\.tls\.(?:certFile|keyFile|clientCaFile): \//);
  expect(message).not.toContain('s3cr3t');
});
