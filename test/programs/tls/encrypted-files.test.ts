/** Encrypted keys, as OpenSSL writes them, opened while other work goes on. */
import { execFileSync, spawnSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { connect, createServer } from 'node:tls';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import type { Config } from '../../../src/config/config.ts';
import { createTlsMaterial, readTlsFiles } from '../../../src/tls/tls-files.ts';
import { WatchedTls } from '../../../src/tls/watched-tls.ts';
import { isAvailable } from '../../support/programs.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import { get } from '../../support/tls/ends.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';
import { answering, OK, startStand } from '../../support/wire/stand.ts';

const hasOpenssl = isAvailable('openssl', spawnSync('openssl', ['version']).status === 0);
const folder = new CertificateFolder();
const authority = folder.authority();
const first = folder.signed(authority, { name: 'first' });
const second = folder.signed(authority, { name: 'second', key: 'rsa' });
const PASSPHRASE = 'Žluťoučký kůň 1';
const passphraseFile = path.join(folder.folder, 'passphrase');
writeFileSync(passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 });
const at = (name: string) => path.join(folder.folder, name);

afterAll(() => folder.remove());

const openssl = (...args: readonly string[]) => void execFileSync('openssl', args, { stdio: 'pipe' });

function toPfx({ certFile, keyFile }: Pair, name: string, ...options: readonly string[]): string {
  const files = ['-in', certFile, '-inkey', keyFile, '-out', at(name), '-passout', `file:${passphraseFile}`];
  openssl('pkcs12', '-export', ...files, ...options);
  return at(name);
}

function toEncrypted({ keyFile }: Pair, name: string, ...options: readonly string[]): string {
  openssl('pkcs8', '-topk8', '-in', keyFile, '-out', at(name), '-passout', `file:${passphraseFile}`, ...options);
  return at(name);
}

/** Writes 8,388,607 as the number of iterations, in place of 65,537: OpenSSL would take long to write such a file. */
function toCostly(file: string): string {
  const [begin = '', body = '', end = ''] = textOf(file).split(/(?<=KEY-----)\n|\n(?=-----END)/);
  const hex = Buffer.from(body, 'base64').toString('hex').replace('0203010001', '02037fffff');
  writeFileSync(file, [begin, Buffer.from(hex, 'hex').toString('base64'), end].join('\n'), { mode: 0o600 });
  return file;
}

const ofPfx = (pfxFile: string, passphrase = passphraseFile) =>
  ({ section: 'listen.tls', pfxFile, passphraseFile: passphrase, caKey: 'clientCaFile' }) as const;
const ofKey = ({ certFile }: Pair, keyFile: string) =>
  ({ section: 'listen.tls', certFile, keyFile, passphraseFile, caKey: 'clientCaFile' }) as const;

async function servedName(address: unknown): Promise<string> {
  const { port } = address as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = new X509Certificate(socket.getPeerCertificate().raw);
  socket.destroy();
  return subject;
}

/** The key of a PEM text, in one form. */
const keyOf = (text = '') => createPrivateKey(text).export({ type: 'pkcs8', format: 'pem' });

describe.runIf(hasOpenssl)('an encrypted key', () => {
  const inPfx = (pair: Pair, name: string, options: readonly string[]) => ofPfx(toPfx(pair, `${name}.pfx`, ...options));
  const inPem = (pair: Pair, name: string, options: readonly string[]) =>
    ofKey(pair, toEncrypted(pair, `${name}.key`, ...options));

  it.each<[what: string, options: string, typeof inPfx | typeof inPem]>([
    ['PKCS #12 with AES and PBKDF2', '-iter 3000', inPfx],
    ['PKCS #12 with AES-128, a checksum by SHA-512', '-keypbe AES-128-CBC -certpbe AES-192-CBC -macalg sha512', inPfx],
    ['PKCS #12 with 3DES and RC2, as old Windows exports them', '-legacy -iter 3000', inPfx],
    ['PKCS #12 with 3DES, a key of more than one digest', '-keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES', inPfx],
    ['PEM with PBKDF2', '-v2 aes-256-cbc -iter 3000', inPem],
    ['PEM with PBKDF2 with SHA-1 and 3DES', '-v2 des3 -v2prf hmacWithSHA1', inPem],
    ['PEM with scrypt', '-scrypt', inPem],
    ['PEM with the derivation of PKCS #12', '-v1 PBE-SHA1-3DES', inPem],
  ])('in %s is read', async (what, options, write) => {
    for (const pair of [first, second]) {
      const files = write(pair, what, options.split(' '));
      const texts = await readTlsFiles(files);
      expect(keyOf(texts.key)).toBe(keyOf(textOf(pair.keyFile)));
      expect(new X509Certificate(texts.cert ?? '').subject).toBe(new X509Certificate(textOf(pair.certFile)).subject);
      expect((await createTlsMaterial(files, texts, systemClock)).warnings).toEqual([]);
    }
  });

  it.each<[what: string, file: () => string, more: object, why: string]>([
    [
      'no passphrase',
      () => toPfx(first, 'none.pfx'),
      { passphraseFile: undefined },
      'does not open without a passphrase',
    ],
    ['a file that is neither', () => folder.file('neither', 'text'), {}, 'is not a PKCS #12 file (.pfx, .p12)'],
    ['no key', () => toPfx(first, 'keyless.pfx', '-nokeys'), {}, 'holds no private key, expected one: export it with'],
  ])('in PKCS #12 with %s is refused with key and file', async (_what, file, more, why) => {
    const pfxFile = file();
    await expect(readTlsFiles({ ...ofPfx(pfxFile), ...more })).rejects.toThrow(`listen.tls.pfxFile: ${pfxFile} ${why}`);
  });

  it('in PKCS #12 with an authority trusts no client for that', async () => {
    const clients = folder.authority('authority of clients');
    const pfxFile = toPfx(first, 'own.pfx', '-certfile', authority.certFile);
    const tls = {
      ...{ certFile: undefined, keyFile: undefined, pfxFile, passphraseFile },
      ...{ clientCaFile: clients.certFile, clientAuth: 'require' as const },
    };
    const config = ({ listen }: Config) => ({ listen: { ...listen, tls } });
    const stand = await startStand({ onConnection: answering(OK), config });
    onTestFinished(() => stand.close());
    const ask = (ca: Pair) =>
      get(stand.port, '/', { ca: authority, own: folder.signed(ca, { name: 'ann', usage: 'clientAuth' }) });
    await expect(ask(authority)).rejects.toThrow();
    expect((await ask(clients)).status).toBe(200);
  });

  it('with a wrong passphrase is refused', async () => {
    const wrong = at('wrong');
    writeFileSync(wrong, 'another one\n', { mode: 0o600 });
    for (const one of [inPfx(first, 'refused', []), inPem(first, 'refused', ['-scrypt'])])
      await expect(readTlsFiles({ ...one, passphraseFile: wrong })).rejects.toThrow('in passphraseFile');
  });

  it('that asks for too much work is refused at once, with the bound', async () => {
    const pbkdf2 = ofKey(first, toCostly(toEncrypted(first, 'costly.key', '-v2', 'aes-256-cbc', '-iter', '65537')));
    for (const files of [pbkdf2, inPem(first, 'scrypt', '-scrypt -scrypt_N 16384 -scrypt_p 40'.split(' '))])
      await expect(readTlsFiles(files)).rejects.toThrow(/keyFile: .* asks for .* at most \d+/);
  });

  it('of 600,000 iterations does not hold the event loop, and is derived once for each change', async () => {
    const live = at('live.pfx');
    // An ASCII passphrase: others are derived in two forms.
    const ascii = at('ascii');
    writeFileSync(ascii, 'a passphrase\n', { mode: 0o600 });
    copyFileSync(toPfx(first, 'small.pfx', '-passout', `file:${ascii}`), live);
    const renewed = toPfx(second, 'large.pfx', '-passout', `file:${ascii}`, '-iter', '600000');
    const { logger } = recordingLogger();
    const watched = await WatchedTls.open(ofPfx(live, ascii), { clock: systemClock, logger });
    const server = createServer(watched.material.options).listen(0, '127.0.0.1');
    await once(server, 'listening');
    watched.onReplaced = (options) => server.setSecureContext(options);
    try {
      expect(await servedName(server.address())).toBe('CN=first');
      renameSync(renewed, live);
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await watched.poll();
      delay.disable();
      expect(watched.numbers.replaced).toBe(1);
      // Measured: 11 s before. The bound leaves room for a busy machine.
      expect(delay.max / 1e6).toBeLessThan(500);
      expect(delay.percentile(90) / 1e6).toBeLessThan(50);
      expect(await servedName(server.address())).toBe('CN=second');
      // The next polls see the same bytes.
      const began = performance.now();
      for (let polls = 0; polls < 10; polls += 1) await watched.poll();
      expect(performance.now() - began).toBeLessThan(1_000);
    } finally {
      server.close();
    }
  }, 60_000);
});
