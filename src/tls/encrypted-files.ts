/** Opens PKCS #12 files, and encrypted keys in PEM. Loaded only where there are such. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import forge from 'node-forge';
import { ConfigError } from '../base/errors.ts';
import { CostlyKeyError, checkIterations, parseWithKeys } from './derived-keys.ts';
import { formatCertificates, formatPrivateKey } from './pem.ts';

const { oids } = forge.pki;
const KEYS = ['pkcs8ShroudedKeyBag', 'keyBag'] as const;

/**
 * Reads certificate and key from PKCS #12 (RFC 7292), also with the old ciphers that Windows uses and OpenSSL 3
 * refuses. The key's own certificate comes first. Node's option `pfx` cannot be used: it trusts the authorities in the
 * file, so any certificate of theirs would let a client in.
 *
 * Throws ConfigError; its message begins with `where`.
 */
export async function readPkcs12(
  where: string,
  bytes: Buffer,
  passphrase: string | undefined,
): Promise<{ cert: string; key: string }> {
  const file = await open(where, bytes, passphrase);
  const keyBag = KEYS.flatMap((name) => bagsOf(file, name))[0];
  // Forge parses RSA keys only, and leaves other kinds as they are in the file.
  const certificates = bagsOf(file, 'certBag').map(
    ({ cert, asn1 }) => new X509Certificate(toDer(cert ? forge.pki.certificateToAsn1(cert) : asn1)),
  );
  if (keyBag === undefined)
    throw new ConfigError(`${where} holds no private key, expected one: export it with its key`);
  if (certificates.length === 0) throw new ConfigError(`${where} holds no certificate, expected that of its key`);
  const info = keyBag.key ? forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(keyBag.key)) : keyBag.asn1;
  const key = createPrivateKey({ key: toDer(info), format: 'der', type: 'pkcs8' });
  const own = certificates.filter((certificate) => certificate.checkPrivateKey(key));
  const others = certificates.filter((certificate) => !own.includes(certificate));
  return { cert: formatCertificates([...own, ...others]), key: formatPrivateKey(key) };
}

async function open(where: string, bytes: Buffer, passphrase: string | undefined): Promise<forge.pkcs12.Pkcs12Pfx> {
  let file: forge.asn1.Asn1;
  try {
    file = forge.asn1.fromDer(bytes.toString('latin1'));
  } catch (cause) {
    throw new ConfigError(`${where} is not a PKCS #12 file (.pfx, .p12)`, { cause });
  }
  try {
    return await decrypt(file, passphrase ?? '');
  } catch (cause) {
    if (cause instanceof CostlyKeyError) throw new ConfigError(`${where} ${cause.message}`, { cause });
    const what =
      passphrase === undefined ? 'without a passphrase: set passphraseFile' : 'with the passphrase in passphraseFile';
    throw new ConfigError(`${where} does not open ${what}, or is not a PKCS #12 file`, { cause });
  }
}

async function decrypt(file: forge.asn1.Asn1, passphrase: string): Promise<forge.pkcs12.Pkcs12Pfx> {
  try {
    return await parseWithKeys(() => forge.pkcs12.pkcs12FromAsn1(file, false, passphrase));
  } catch (cause) {
    const bytes = Buffer.from(passphrase, 'utf8').toString('latin1');
    if (bytes === passphrase || cause instanceof CostlyKeyError) throw cause;
    // The checksum uses the passphrase in UTF-16, newer ciphers use it in UTF-8. Forge has one form for both.
    const withoutSum = { ...file, value: (file.value as forge.asn1.Asn1[]).slice(0, 2) };
    return await parseWithKeys(() => forge.pkcs12.pkcs12FromAsn1(withoutSum, false, bytes));
  }
}

function bagsOf(file: forge.pkcs12.Pkcs12Pfx, name: 'certBag' | (typeof KEYS)[number]): readonly forge.pkcs12.Bag[] {
  const type = oids[name] as string;
  return file.getBags({ bagType: type })[type] ?? [];
}

function toDer(asn1: forge.asn1.Asn1): Buffer {
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'latin1');
}

const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----([\s\S]*?)-----END ENCRYPTED PRIVATE KEY-----/;
const PBES2 = '1.2.840.113549.1.5.13';
const SCRYPT = '1.3.6.1.4.1.11591.4.11';
/** scrypt's N times r times p: 32 times OpenSSL's default, about 1.5 s. */
const MAX_SCRYPT_COST = 4_194_304;

/** For a worker, since deriving a key takes a second at worst. A text, since the built program has no file for it. */
const OPEN_KEY = `
const { createPrivateKey } = require('node:crypto');
const { parentPort, workerData } = require('node:worker_threads');
parentPort.postMessage(createPrivateKey(workerData).export({ type: 'pkcs8', format: 'pem' }));
`;

/**
 * `text` with its encrypted key (PKCS #8) in the clear; unchanged without one. OpenSSL's older format takes one
 * iteration and is left to Node. Throws ConfigError; its message begins with `where`.
 */
export async function openEncryptedKey(where: string, text: string, passphrase: string): Promise<string> {
  const [block, base64 = ''] = ENCRYPTED_KEY.exec(text) ?? [];
  if (block === undefined) return text;
  try {
    checkCost(forge.asn1.fromDer(Buffer.from(base64, 'base64').toString('latin1')));
    const worker = new Worker(OPEN_KEY, { eval: true, workerData: { key: block, passphrase } });
    const [pem] = (await once(worker, 'message')) as [string];
    return text.replace(block, () => pem.trimEnd());
  } catch (cause) {
    if (cause instanceof CostlyKeyError) throw new ConfigError(`${where} ${cause.message}`, { cause });
    throw new ConfigError(`${where} does not open with the passphrase in passphraseFile`, { cause });
  }
}

/** Throws CostlyKeyError. RFC 5958, RFC 8018 (PBES2), RFC 7292 appendix C, RFC 7914 §7.1 (scrypt). */
function checkCost(info: forge.asn1.Asn1): void {
  const [scheme, parameters] = membersOf(membersOf(info)[0]);
  const [derivation, costs] = oidOf(scheme) === PBES2 ? membersOf(membersOf(parameters)[0]) : [scheme, parameters];
  const numberAt = (index: number) =>
    Number(`0x${Buffer.from(bytesOf(membersOf(costs)[index]), 'latin1').toString('hex')}`);
  if (oidOf(derivation) !== SCRYPT) {
    checkIterations(numberAt(1));
    return;
  }
  const [N, r, p] = [numberAt(1), numberAt(2), numberAt(3)];
  if (N * r * p > MAX_SCRYPT_COST) {
    throw new CostlyKeyError(
      `asks for scrypt with N=${N}, r=${r}, p=${p}, expected N * r * p of at most ${MAX_SCRYPT_COST}`,
    );
  }
}

function oidOf(value: forge.asn1.Asn1 | undefined): string {
  return forge.asn1.derToOid(bytesOf(value));
}

/** The members of a sequence. Throws if it is none. */
function membersOf(value: forge.asn1.Asn1 | undefined): readonly forge.asn1.Asn1[] {
  if (!Array.isArray(value?.value)) throw new Error('not a sequence');
  return value.value;
}

/** The content of a primitive value, a character for each byte. Throws if it has members. */
function bytesOf(value: forge.asn1.Asn1 | undefined): string {
  if (typeof value?.value !== 'string') throw new Error('not a value');
  return value.value;
}
