/**
 * Reads PEM files (RFC 7468) as OpenSSL does. OpenSSL silently skips a block whose lines it does not recognize, such as
 * an indented one, or one after a byte order mark within the file; a handshake then lacks a certificate. So such a file is
 * refused, with its line. Messages never quote a file.
 */
import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { ConfigError } from '../base/errors.ts';
import { describeFileError } from '../base/trusted-file.ts';

const CERTIFICATE_LABEL = /^(?:X509 |TRUSTED )?CERTIFICATE$/;
/** PKCS #8, and OpenSSL's older format. */
export const ENCRYPTED_KEY = /^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m;
/** OpenSSL ignores blanks and control characters at the end of a line. */
const MARKER = /^-----(BEGIN|END) ([^-]+)-----[\0-\x20]*$/;
/** Any dash (in UTF-8 or Windows-1252) before the word: a person takes the line for a marker, OpenSSL does not. */
const LIKE_MARKER = /(?:[-\x96\x97]|\xe2\x80[\x90-\x95]) ?(?:BEGIN|END) /;
const BYTE_ORDER_MARK = '\xef\xbb\xbf';
const UTF16 = /^(?:\xff\xfe|\xfe\xff)|^.?\0/s;
/** A SEQUENCE of more than 127 bytes, or of indefinite length, as certificates, keys and PKCS #12 files are. */
const DER = /^\x30[\x80-\x84]/;

/**
 * `content` is the file in latin1, which is searched only as far as certificates are taken. Throws ConfigError; its
 * message begins with `where`, e.g. `caFile: /etc/ca.pem`.
 */
export function* readCertificates(where: string, content: string): Generator<X509Certificate> {
  let count = 0;
  for (const { label, text, line } of readBlocks(where, content)) {
    if (!CERTIFICATE_LABEL.test(label)) continue;
    count += 1;
    try {
      yield new X509Certificate(text);
    } catch (cause) {
      throw new ConfigError(`${where}:${line}: certificate ${count} cannot be read: ${describeFileError(cause)}`, {
        cause,
      });
    }
  }
  if (count === 0) throw new ConfigError(`${where} holds no certificate, expected PEM (BEGIN CERTIFICATE)`);
}

/** The certificates in the form that OpenSSL writes. */
export function formatCertificates(certificates: readonly X509Certificate[]): string {
  return certificates.map(String).join('');
}

/** Like `readCertificates`, for the one private key of a file. */
export function readPrivateKey(where: string, content: string, passphrase?: string): KeyObject {
  const [block, second] = [...readBlocks(where, content)].filter(({ label }) => label.endsWith('PRIVATE KEY'));
  const form = 'holds no private key that can be read, expected PEM (BEGIN PRIVATE KEY)';
  if (block === undefined) throw new ConfigError(`${where} ${form}`);
  if (second !== undefined) throw new ConfigError(`${where}:${second.line} holds a second private key, expected one`);
  const { text, line } = block;
  const isEncrypted = ENCRYPTED_KEY.test(text);
  if (isEncrypted && passphrase === undefined) {
    throw new ConfigError(
      `${where}:${line} is encrypted, expected passphraseFile with its passphrase, or a key without one (openssl pkey removes it)`,
    );
  }
  try {
    return createPrivateKey(isEncrypted && passphrase !== undefined ? { key: text, passphrase } : text);
  } catch (cause) {
    const reason = isEncrypted ? 'does not open with the passphrase in passphraseFile' : form;
    throw new ConfigError(`${where}:${line} ${reason}`, { cause });
  }
}

export function formatPrivateKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }) as string;
}

/** `line` counts from 1. */
function* readBlocks(where: string, content: string) {
  const fail = (line: number, problem: string): never => {
    throw new ConfigError(`${where}:${line}: ${problem}`);
  };
  if (UTF16.test(content)) fail(1, 'is UTF-16, expected ASCII: save it as UTF-8 without a byte order mark');
  if (DER.test(content)) {
    fail(
      1,
      'is binary (DER or PKCS #12), expected PEM: openssl x509 -inform der or openssl pkey -inform der converts DER; PKCS #12 belongs in pfxFile',
    );
  }
  // OpenSSL reads over a byte order mark at the very beginning, as Windows editors write it.
  const lines = (content.startsWith(BYTE_ORDER_MARK) ? content.slice(BYTE_ORDER_MARK.length) : content).split('\n');
  let begun: { readonly label: string; readonly from: number } | undefined;
  for (const [index, text] of lines.entries()) {
    const [, word, label = ''] = MARKER.exec(text) ?? [];
    if (word === undefined) {
      if (LIKE_MARKER.test(text) && !text.startsWith('#')) fail(index + 1, problemOf(text));
    } else if (word === 'BEGIN') {
      if (begun !== undefined) fail(begun.from + 1, `BEGIN ${begun.label} without its END line`);
      begun = { label, from: index };
    } else if (begun === undefined || begun.label !== label) {
      fail(index + 1, `END ${label} without its BEGIN line`);
    } else {
      yield { label, line: begun.from + 1, text: `${lines.slice(begun.from, index + 1).join('\n')}\n` };
      begun = undefined;
    }
  }
  if (begun !== undefined) fail(begun.from + 1, `BEGIN ${begun.label} without its END line`);
}

/** Why OpenSSL does not take the line for a marker. */
function problemOf(line: string): string {
  if (line.startsWith(BYTE_ORDER_MARK))
    return 'a byte order mark within the file, expected at most one at its beginning: join the files without it';
  if (/END [^-]+-+BEGIN /.test(line)) return 'END and BEGIN on one line, expected a line break between them';
  if (/^\s+-----(?:BEGIN|END) /.test(line)) return 'BEGIN or END is indented, expected it at the beginning of its line';
  return 'BEGIN or END is not alone on its line between five hyphens, expected e.g. -----BEGIN CERTIFICATE-----';
}
