import { createPrivateKey, X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import { ConfigError } from '../base/errors.ts';
import { CostlyKeyError, parseWithKeys } from './derived-keys.ts';
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
  const certificates = bagsOf(file, 'certBag').map((bag) => new X509Certificate(toDer(certificateOf(bag))));
  if (keyBag === undefined)
    throw new ConfigError(`${where} holds no private key, expected one: export it with its key`);
  if (certificates.length === 0) throw new ConfigError(`${where} holds no certificate, expected that of its key`);
  const key = createPrivateKey({ key: toDer(privateKeyOf(keyBag)), format: 'der', type: 'pkcs8' });
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

/** Forge parses RSA keys only, and leaves other kinds as they are in the file. */
function certificateOf(bag: forge.pkcs12.Bag): forge.asn1.Asn1 {
  return bag.cert ? forge.pki.certificateToAsn1(bag.cert) : bag.asn1;
}

function privateKeyOf(bag: forge.pkcs12.Bag): forge.asn1.Asn1 {
  return bag.key ? forge.pki.wrapRsaPrivateKey(forge.pki.privateKeyToAsn1(bag.key)) : bag.asn1;
}

function toDer(asn1: forge.asn1.Asn1): Buffer {
  return Buffer.from(forge.asn1.toDer(asn1).getBytes(), 'latin1');
}
