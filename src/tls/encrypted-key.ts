/** Opens encrypted keys in PEM. OpenSSL derives their key, which takes a second at worst, so a worker does that. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import forge from 'node-forge';
import { ConfigError } from '../base/errors.ts';
import { CostlyKeyError, checkIterations } from './derived-keys.ts';

const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----([\s\S]*?)-----END ENCRYPTED PRIVATE KEY-----/;
const PBES2 = '1.2.840.113549.1.5.13';
const SCRYPT = '1.3.6.1.4.1.11591.4.11';
/** scrypt's N times r times p: 32 times OpenSSL's default, about 1.5 s. */
const MAX_SCRYPT_COST = 4_194_304;

/** A text, since the built program has no file of its own for it. */
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
