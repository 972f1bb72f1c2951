/** Reads files with certificates and keys, and reports which one is unusable and why. Never quotes their content. */
import type { KeyObject, X509Certificate } from 'node:crypto';
import type { SecureContext } from 'node:tls';
import { type Clock, MS_PER_S } from '../base/clock.ts';
import { ConfigError, StartError } from '../base/errors.ts';
import { decodeText, describeFileError, isReadableByAll, readRegularFile } from '../base/trusted-file.ts';
import { createContext, LastResult, readAuthorities } from './authorities.ts';
import { describeValidity, type OwnCertificate } from './own-certificate.ts';
import { ENCRYPTED_KEY, formatCertificates, formatPrivateKey, readCertificates, readPrivateKey } from './pem.ts';
import { TLS_POLICY } from './policy.ts';

export interface TlsFiles {
  readonly section: string;
  /** `certFile` and `keyFile` are both set or both undefined. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
  /** Certificate and key in one file, instead of the two above. */
  readonly pfxFile?: string | undefined;
  /** The passphrase of `keyFile` or `pfxFile`. */
  readonly passphraseFile?: string | undefined;
  /** Authorities that verify the peer's certificate. */
  readonly caFile?: string | undefined;
  readonly caKey: 'clientCaFile' | 'caFile';
}

type FileKey = 'certFile' | 'keyFile' | 'pfxFile' | 'passphraseFile';

/** For messages, e.g. `listen.tls.keyFile: /etc/tls/key.pem`. */
function nameOf(files: TlsFiles, key: FileKey): string {
  return `${files.section}.${key}: ${files[key]}`;
}

/** PEM. */
export interface TlsTexts {
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly ca: string | undefined;
  /** E.g. that every user can read the key. */
  readonly warnings: readonly string[];
}

/** To notice a change. */
export function contentOf({ cert, key, ca }: TlsTexts): string {
  return JSON.stringify([cert, key, ca]);
}

export interface TlsMaterial {
  /** What the files contain; undefined for a stand-in certificate. */
  readonly content: string | undefined;
  /** For `server.setSecureContext` and similar calls; contains the whole policy. */
  readonly options: typeof TLS_POLICY & { readonly cert?: string; readonly key?: string; readonly ca?: string };
  readonly secureContext: SecureContext;
  /** Undefined without one, and while the stand-in certificate is used. */
  readonly certificate: OwnCertificate | undefined;
  /** Messages for the log, e.g. that every user can read the key. */
  readonly warnings: readonly string[];
  /** Why the certificate needs a new one, for the log; undefined while all is well. */
  warnOfTime(): string | undefined;
}

/** PEM, opened with a passphrase. */
export type OpenedFiles = LastResult<{ readonly cert?: string; readonly key: string }>;

/** A chain with its key is 10 KB; all authorities of a browser are 250 KB. */
const MAX_BYTES = 1024 * 1024;
const SLOW_MS = 2_000;

/**
 * Throws StartError (D2S_ERR_TLS_FILE) with key, file and reason if a file cannot be read, ConfigError if its
 * passphrase is wrong. `opened` remembers what was opened with a passphrase.
 */
export async function readTlsFiles(files: TlsFiles, opened: OpenedFiles = new LastResult()): Promise<TlsTexts> {
  const beganMs = performance.now();
  const texts = await openTlsFiles(files, opened);
  const tookMs = performance.now() - beganMs;
  if (tookMs < SLOW_MS) return texts;
  const seconds = Math.round(tookMs / MS_PER_S);
  const slow = `${files.section}: reading its files took ${seconds} s, which delays each start; fewer iterations of the key (at most 600,000) are faster`;
  return { ...texts, warnings: [...texts.warnings, slow] };
}

async function openTlsFiles(files: TlsFiles, opened: OpenedFiles): Promise<TlsTexts> {
  const warnings: string[] = [];
  const { section, certFile, caFile, caKey } = files;
  const readSecret = (key: FileKey) =>
    readFile(`${section}.${key}`, files[key], (mode) => {
      if (isReadableByAll(mode))
        warnings.push(`${nameOf(files, key)} can be read by every user of this machine; chmod o= closes it`);
    });
  const passphrase = decodePassphrase(nameOf(files, 'passphraseFile'), await readSecret('passphraseFile'));
  const cert = (await readFile(`${section}.certFile`, certFile))?.toString('latin1');
  const key = (await readSecret('keyFile'))?.toString('latin1');
  const pfx = await readSecret('pfxFile');
  const ca = (await readFile(`${section}.${caKey}`, caFile))?.toString('latin1');
  if (pfx !== undefined) {
    const where = nameOf(files, 'pfxFile');
    if (pfx.includes('-----BEGIN ')) {
      throw new ConfigError(`${where}:1: is PEM, expected PKCS #12: name it in certFile and keyFile`);
    }
    const { readPkcs12 } = await import('./encrypted-files.ts');
    const read = () => readPkcs12(where, pfx, passphrase);
    const { cert: own, key: open } = await opened.of([where, pfx, passphrase ?? ''], read);
    return { cert: own, key: open, ca, warnings };
  }
  if (key === undefined || passphrase === undefined || !ENCRYPTED_KEY.test(key)) return { cert, key, ca, warnings };
  const where = nameOf(files, 'keyFile');
  const open = async () => {
    const { openEncryptedKey } = await import('./encrypted-files.ts');
    const text = await openEncryptedKey(where, key, passphrase);
    return { key: formatPrivateKey(readPrivateKey(where, text, passphrase)) };
  };
  return { cert, key: (await opened.of([where, key, passphrase], open)).key, ca, warnings };
}

/** The first line. */
function decodePassphrase(where: string, bytes: Buffer | undefined): string | undefined {
  try {
    return bytes && decodeText(bytes).split(/\r?\n/, 1)[0];
  } catch (cause) {
    throw new ConfigError(`${where} cannot be read: ${describeFileError(cause)}`, { cause });
  }
}

/** Throws ConfigError with key, file and reason. An expired certificate is only a warning: the clock may be wrong. */
export async function createTlsMaterial(files: TlsFiles, texts: TlsTexts, clock: Clock): Promise<TlsMaterial> {
  const { section, caFile, caKey } = files;
  const warnings = [...texts.warnings];
  const [certKey, keyKey] =
    files.pfxFile === undefined ? (['certFile', 'keyFile'] as const) : (['pfxFile', 'pfxFile'] as const);
  const own = texts.cert === undefined ? [] : [...readCertificates(nameOf(files, certKey), texts.cert)];
  const ca = texts.ca === undefined ? [] : await readAuthorities(`${section}.${caKey}: ${caFile}`, texts.ca);
  const [leaf] = own;
  const key = texts.key === undefined ? undefined : readPrivateKey(nameOf(files, keyKey), texts.key);
  if (leaf !== undefined && key !== undefined) checkKey(nameOf(files, keyKey), key, `${files[certKey]}`, own);
  // In OpenSSL's own form: all that is in the files, and only that, reaches the handshake.
  const withoutCa = {
    ...TLS_POLICY,
    ...(leaf === undefined ? {} : { cert: formatCertificates(own) }),
    ...(key === undefined ? {} : { key: formatPrivateKey(key) }),
  };
  const options = { ...withoutCa, ...(ca.length === 0 ? {} : { ca: ca.join('') }) };
  const certificate = leaf && {
    section,
    notBeforeEpochMs: Date.parse(leaf.validFrom),
    notAfterEpochMs: Date.parse(leaf.validTo),
  };
  const warnOfTime = () => {
    const text = certificate && describeValidity(certificate, clock.epochMs());
    return text && `${nameOf(files, certKey)}: ${text}`;
  };
  const secureContext = await createContext(withoutCa, ca).catch((cause: unknown) => {
    // E.g. a key that is too short, or a digest that OpenSSL no longer accepts.
    throw new ConfigError(`${section}: certificate and key cannot be used: ${describeFileError(cause)}`, { cause });
  });
  return { content: contentOf(texts), options, secureContext, certificate, warnings, warnOfTime };
}

async function readFile(key: string, file: string | undefined, onMode?: (mode: number) => void) {
  if (file === undefined) return undefined;
  try {
    return await readRegularFile(file, MAX_BYTES, ({ mode }) => onMode?.(mode));
  } catch (cause) {
    throw new StartError('D2S_ERR_TLS_FILE', `${key}: ${file} cannot be read: ${describeFileError(cause)}`, { cause });
  }
}

function checkKey(where: string, key: KeyObject, certFile: string, own: readonly X509Certificate[]): void {
  const index = own.findIndex((certificate) => certificate.checkPrivateKey(key));
  if (index === 0) return;
  if (index > 0) {
    throw new ConfigError(
      `${where} belongs to certificate ${index + 1} of ${certFile}, expected that one to be the first`,
    );
  }
  throw new ConfigError(`${where} does not belong to the certificate in ${certFile}, expected its private key`);
}
