import { createKeyFileReader } from '../../base/key-file.ts';
import type { Logger } from '../../base/logger.ts';
import { decodeText } from '../../base/trusted-file.ts';
import type { JvmHttpSource } from '../../config/config.ts';
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

/** The file has nothing but the password; one line end after it is ignored. It takes precedence over `passwordEnv`. */
export interface CredentialsOptions extends Pick<JvmHttpSource, 'username' | 'passwordFile' | 'passwordEnv'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Pick<Logger, 'warn'>;
}

const MAX_PASSWORD_BYTES = 4096;

export function createCredentialsReader(options: CredentialsOptions): CredentialsReader {
  const { username, passwordFile, passwordEnv, env, logger } = options;
  if (username === undefined) return async () => undefined;
  if (passwordFile !== undefined) {
    const file = { key: 'jvm.http.passwordFile', file: passwordFile, maxBytes: MAX_PASSWORD_BYTES, logger };
    const read = createKeyFileReader({ ...file, createError: unusable }, decodeText);
    return async () => {
      const password = (await read()).replace(/\r?\n$/, '');
      return createCredentials(username, password, `${passwordFile} (jvm.http.passwordFile)`);
    };
  }
  if (passwordEnv === undefined) return async () => undefined;
  const where = `the environment variable ${passwordEnv} (jvm.http.passwordEnv)`;
  return async () => createCredentials(username, env[passwordEnv], where);
}

function createCredentials(username: string, password: string | undefined, where: string): Credentials {
  if (password === undefined || password === '') throw unusable(`There is no password in ${where}; put it there.`);
  // A control character could end the header line in HTTP.
  if (hasControls(username) || hasControls(password))
    throw unusable(`The user (jvm.http.username), or the password in ${where}, contains a control character.`);
  return { username, password };
}

function hasControls(text: string): boolean {
  return [...text].some((char) => char < ' ' || char === '\x7f');
}

function unusable(message: string): JvmSourceError {
  return new JvmSourceError('D2S_ERR_JVM_ACCESS', message);
}
