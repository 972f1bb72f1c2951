/**
 * Certificate authorities from PEM files. A bundle of 1 MB has some 700 certificates, and parsing each takes 0.2 ms twice:
 * here, and in OpenSSL's store. So the work is done in steps, with turns of the event loop between them.
 */
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';
import { createKeyFileReader, type KeyFileOptions } from '../base/key-file.ts';
import { readCertificates } from './pem.ts';

/** Some milliseconds. */
const CERTIFICATES_PER_TURN = 10;
const MAX_BYTES = 1024 * 1024;

export interface Authorities {
  /** In the form that OpenSSL writes. */
  readonly pem: string;
  /** Trusts these authorities only. */
  readonly secureContext: SecureContext;
}

/** The authorities in `content`, which is the file in latin1, each as PEM. Throws like `readCertificates`. */
export async function readAuthorities(where: string, content: string): Promise<readonly string[]> {
  const authorities: string[] = [];
  for (const certificate of readCertificates(where, content)) {
    authorities.push(certificate.toString());
    if (authorities.length % CERTIFICATES_PER_TURN === 0) await nextTurn();
  }
  return authorities;
}

/** Like `createSecureContext`, with `authorities` as the option `ca`; without any it has the well-known ones. */
export async function createContext(
  options: SecureContextOptions,
  authorities: readonly string[],
): Promise<SecureContext> {
  const pieceAt = (at: number) => authorities.slice(at, at + CERTIFICATES_PER_TURN).join('');
  const secureContext = createSecureContext(authorities.length === 0 ? options : { ...options, ca: pieceAt(0) });
  for (let at = CERTIFICATES_PER_TURN; at < authorities.length; at += CERTIFICATES_PER_TURN) {
    await nextTurn();
    // Undocumented; createSecureContext calls the same for each text in `ca`.
    (secureContext.context as { addCACert(pem: string): void }).addCACert(pieceAt(at));
  }
  return secureContext;
}

type AuthoritiesOptions = Pick<KeyFileOptions, 'key' | 'createError'> & { readonly file: string | undefined };

/** Reads the file at each call, but parses it only when it has changed. Resolves to undefined without a file. */
export function createAuthoritiesReader({ file, ...options }: AuthoritiesOptions) {
  if (file === undefined) return async () => undefined;
  const last = new LastResult<Authorities>();
  const { key } = options;
  const parse = async (bytes: Buffer) => {
    const authorities = await readAuthorities(`${key}: ${file}`, bytes.toString('latin1'));
    return { pem: authorities.join(''), secureContext: await createContext({}, authorities) };
  };
  return createKeyFileReader({ ...options, file, maxBytes: MAX_BYTES }, (bytes) =>
    last.of([bytes], () => parse(bytes)),
  );
}

/** Keeps the result of the last call, also a failure: watched files are read every two seconds, and deriving a key is costly. */
export class LastResult<T> {
  #id: string | undefined;
  #result: Promise<T> | undefined;

  /** Calls `create` if `parts` differ from those of the last call. */
  of(parts: readonly (string | Buffer)[], create: () => Promise<T>): Promise<T> {
    const hash = createHash('sha256');
    for (const part of parts) hash.update(`${part.length}:`).update(part);
    const id = hash.digest('base64');
    if (this.#result === undefined || id !== this.#id) {
      this.#id = id;
      this.#result = create();
    }
    return this.#result;
  }
}
