/** Opens encrypted keys in PEM, while other work goes on. */
import { createPrivateKey } from 'node:crypto';
import forge from 'node-forge';
import { ConfigError } from '../base/errors.ts';
import { bytesOf, CostlyKeyError, childrenOf, parseWithKeys } from './derived-keys.ts';

const ENCRYPTED_KEY = /-----BEGIN ENCRYPTED PRIVATE KEY-----([\s\S]*?)-----END ENCRYPTED PRIVATE KEY-----/;
const PBES2 = '1.2.840.113549.1.5.13';

/**
 * `text` with its encrypted key (PKCS #8) in the clear; unchanged without one. OpenSSL's older format takes one
 * iteration and is left to Node. Throws ConfigError; its message begins with `where`.
 */
export async function openEncryptedKey(where: string, text: string, passphrase: string): Promise<string> {
  const [block, base64 = ''] = ENCRYPTED_KEY.exec(text) ?? [];
  if (block === undefined) return text;
  try {
    const info = forge.asn1.fromDer(Buffer.from(base64, 'base64').toString('latin1'));
    // PBES2 takes the passphrase in UTF-8, the older schemes take its UTF-16 units.
    const isPbes2 = schemeOf(info) === PBES2;
    const secret = isPbes2 ? Buffer.from(passphrase, 'utf8').toString('latin1') : passphrase;
    const opened = await parseWithKeys(() => forge.pki.decryptPrivateKeyInfo(info, secret));
    const key = Buffer.from(forge.asn1.toDer(opened).getBytes(), 'latin1');
    const pem = createPrivateKey({ key, format: 'der', type: 'pkcs8' }).export({ type: 'pkcs8', format: 'pem' });
    return text.replace(block, () => (pem as string).trimEnd());
  } catch (cause) {
    if (cause instanceof CostlyKeyError) throw new ConfigError(`${where} ${cause.message}`, { cause });
    throw new ConfigError(`${where} does not open with the passphrase in passphraseFile`, { cause });
  }
}

function schemeOf(info: forge.asn1.Asn1): string {
  const [algorithm] = childrenOf(info);
  const [oid] = childrenOf(algorithm);
  return forge.asn1.derToOid(bytesOf(oid));
}
