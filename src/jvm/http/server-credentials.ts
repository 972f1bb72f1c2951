import { stat } from 'node:fs/promises';
import type { Logger } from '../../base/logger.ts';
import { decodeText, readRegularFile, toFileReason, UntrustedFileError } from '../../base/trusted-file.ts';
import { JvmSourceError } from '../jvm-source.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export function isSame(a: Credentials | undefined, b: Credentials | undefined): boolean {
  return a?.username === b?.username && a?.password === b?.password;
}

/** Returns the current credentials; undefined if none are configured. Rejects with `D2S_ERR_JVM_ACCESS`. */
export type CredentialsReader = () => Promise<Credentials | undefined>;

export interface CredentialsOptions {
  readonly username?: string | undefined;
  /** A file with nothing but the password; one line end after it is ignored. Takes precedence over `passwordEnv`. */
  readonly passwordFile?: string | undefined;
  readonly passwordEnv?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Pick<Logger, 'warn'>;
}

const MAX_PASSWORD_BYTES = 4096;
const READABLE_BY_ALL = 0o004;

/**
 * Reads the password again whenever its file changes, so that a rotated secret needs no restart. A file that every user
 * can read is accepted, with one warning for each version of it.
 */
export function createCredentialsReader(options: CredentialsOptions): CredentialsReader {
  const { username, passwordFile, passwordEnv, env, logger } = options;
  if (username === undefined) return async () => undefined;
  if (passwordFile !== undefined) return createFileReader(username, passwordFile, logger);
  if (passwordEnv === undefined) return async () => undefined;
  return async () =>
    toCredentials(username, env[passwordEnv], `the environment variable ${passwordEnv}`, 'passwordEnv');
}

function createFileReader(username: string, file: string, logger: Pick<Logger, 'warn'>): CredentialsReader {
  let version: string | undefined;
  let credentials: Credentials | undefined;
  return async () => {
    const { found, mode } = await inspect(file);
    if (found === version && credentials !== undefined) return credentials;
    credentials = toCredentials(username, await readPassword(file), file, 'passwordFile');
    version = found;
    if ((mode & READABLE_BY_ALL) !== 0)
      logger.warn({ file }, `every user of this machine can read the file of jvm.http.passwordFile: chmod 0400`);
    return credentials;
  };
}

/** `found` changes with the content: Kubernetes mounts a new inode, an edited file has a later ctime. */
async function inspect(file: string): Promise<{ found: string; mode: number }> {
  try {
    const found = await stat(file, { bigint: true });
    if (!found.isFile()) throw unusable(`${file} (jvm.http.passwordFile) is not a regular file.`);
    if (found.size > MAX_PASSWORD_BYTES)
      throw unusable(
        `${file} (jvm.http.passwordFile) is larger than ${MAX_PASSWORD_BYTES} bytes, too large for a password.`,
      );
    return { found: `${found.ino}:${found.ctimeNs}:${found.size}`, mode: Number(found.mode) };
  } catch (cause) {
    throw cause instanceof JvmSourceError ? cause : unreadable(file, cause);
  }
}

async function readPassword(file: string): Promise<string> {
  try {
    return decodeText(await readRegularFile(file, MAX_PASSWORD_BYTES)).replace(/\r?\n$/, '');
  } catch (cause) {
    throw unreadable(file, cause);
  }
}

function toCredentials(
  username: string,
  password: string | undefined,
  where: string,
  key: 'passwordFile' | 'passwordEnv',
): Credentials {
  if (password === undefined || password === '')
    throw unusable(`There is no password in ${where} (jvm.http.${key}); put it there.`);
  // A control character could end the header line in HTTP.
  if (hasControls(username) || hasControls(password))
    throw unusable(`The user (jvm.http.username), or the password in ${where}, contains a control character.`);
  return { username, password };
}

function hasControls(text: string): boolean {
  return [...text].some((char) => char < ' ' || char === '\x7f');
}

function unreadable(file: string, cause: unknown): JvmSourceError {
  if (cause instanceof UntrustedFileError)
    return unusable(`The file ${file} (jvm.http.passwordFile) cannot be used: ${cause.message}.`);
  const code = toFileReason(cause);
  const advice = code === 'ENOENT' ? 'create it' : 'let the user of the sidecar read it';
  return unusable(`The file ${file} (jvm.http.passwordFile) cannot be read (${code}); ${advice}.`);
}

function unusable(message: string): JvmSourceError {
  return new JvmSourceError('D2S_ERR_JVM_ACCESS', message);
}
