/**
 * Reads the JVM's condition over HTTP. It uses one address, from the configuration, and only the read operations that
 * its source defines. It takes no input from a caller, follows no redirect, and gives up on late or oversized answers.
 */
import { Client, type Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { readRegularFile, toFileReason } from '../../base/trusted-file.ts';
import { JvmSourceError } from '../jvm-source.ts';
import type { Address } from './address.ts';
import type { Credentials, CredentialsReader } from './credentials.ts';
import { type Advice, toStatusError, toWireError } from './http-errors.ts';
import { KEYS } from './keys.ts';
import type { Login } from './login.ts';
import { LoginBackOff } from './login-back-off.ts';

/** TLS to the source. The certificate is always verified. */
export interface TlsOptions {
  /** PEM file of the authorities to trust instead of the well-known ones; read at each connection. */
  readonly caFile?: string | undefined;
  /** The name that the certificate must have, if it differs from the address. */
  readonly serverName?: string | undefined;
}

export interface HttpSourceOptions {
  /** E.g. `http://127.0.0.1:8080/manager`; each source documents its path and its default. */
  readonly url: string;
  readonly tls?: TlsOptions | undefined;
  readonly credentials?: CredentialsReader | undefined;
  readonly clock: Clock;
}

export interface HttpClientOptions extends Omit<HttpSourceOptions, 'url'> {
  readonly address: Address;
  readonly login: Login;
  readonly advice: Advice;
}

export interface ReadOperation {
  readonly method: 'GET' | 'POST';
  /** Appended to the address's path, e.g. `/status?JSON=true`. */
  readonly path: string;
  readonly accept: string;
  /** JSON. */
  readonly body?: string;
}

/** Bytes of an answer. The largest measured is 54 KB; a registry with every metric of an application reaches 300 KB. */
export const MAX_ANSWER_BYTES = 512 * 1024;
/** Bytes of a 401 page to read and discard. */
const MAX_REFUSAL_BYTES = 16 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** One try without a nonce, one with an expired nonce, one with a new nonce. */
const MAX_TRIES = 3;
const MAX_CA_BYTES = 1024 * 1024;

export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #backOff: LoginBackOff;
  #underWay: Client | undefined;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#backOff = new LoginBackOff(options.clock);
  }

  /** Returns the text of a 200 answer. Rejects with a `JvmSourceError` for any other, and when `signal` aborts. */
  async read(operation: ReadOperation, signal: AbortSignal): Promise<string> {
    const where = this.#where(operation);
    let client: Client | undefined;
    try {
      const credentials = await this.#options.credentials?.();
      this.#backOff.check(credentials);
      client = await this.#connect();
      this.#underWay = client;
      const answer = await this.#logIn(client, operation, credentials, signal);
      if (answer.statusCode !== 200) throw toStatusError(answer.statusCode, where, this.#options.advice);
      return await textOf(answer, where);
    } catch (cause) {
      throw toWireError(cause, where, signal);
    } finally {
      this.#underWay = undefined;
      // No keep-alive: between two polls the server would close an idle connection. This also drops unread bodies.
      client?.destroy().catch(() => undefined);
    }
  }

  close(): void {
    this.#underWay?.destroy().catch(() => undefined);
  }

  /** Address and path without the query, which may hold a secret. */
  #where({ path }: ReadOperation): string {
    const { origin, basePath } = this.#options.address;
    return `${origin}${basePath}${path.replace(/\?.*$/s, '')}`;
  }

  async #connect(): Promise<Client> {
    const { address, tls = {} } = this.#options;
    const { caFile, serverName } = tls;
    const ca = caFile === undefined ? undefined : await readAuthorities(caFile);
    return new Client(address.origin, {
      connect: {
        ...(ca === undefined ? {} : { ca }),
        ...(serverName === undefined ? {} : { servername: serverName }),
      },
      maxResponseSize: MAX_ANSWER_BYTES,
      maxHeaderSize: MAX_HEAD_BYTES,
      // The reading's signal bounds both.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Sends the operation, with a retry if the server's challenge suggests one. Returns any answer but a 401. */
  async #logIn(
    client: Client,
    operation: ReadOperation,
    credentials: Credentials | undefined,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { login, address } = this.#options;
    const target = `${address.basePath}${operation.path}${address.query}`;
    for (let tries = 1; ; tries += 1) {
      const authorization = login.authorize({ method: operation.method, target }, credentials);
      const answer = await send(client, operation, target, authorization, signal);
      if (answer.statusCode !== 401) {
        if (answer.statusCode === 200 || answer.statusCode === 403) {
          login.accepted(credentials);
          this.#backOff.accepted();
        }
        return answer;
      }
      const outcome = login.challenged(toList(answer.headers['www-authenticate']), credentials);
      if (outcome !== 'retry' || tries === MAX_TRIES)
        throw this.#backOff.refused(credentials, toRefusal(this.#where(operation), credentials, outcome));
      await answer.body.dump({ limit: MAX_REFUSAL_BYTES, signal });
    }
  }
}

async function send(
  client: Client,
  { method, accept, body }: ReadOperation,
  path: string,
  authorization: string | undefined,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  return await client.request({
    method,
    path,
    signal,
    headers: {
      accept,
      // A small compressed body could become a large one.
      'accept-encoding': 'identity',
      'user-agent': 'd2-sidecar',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: body ?? null,
  });
}

async function textOf(answer: Dispatcher.ResponseData, where: string): Promise<string> {
  const coding = answer.headers['content-encoding'] ?? 'identity';
  if (coding !== 'identity')
    throw new JvmSourceError('D2S_ERR_JVM_FORMAT', `${where} answered in a content coding that was not asked for.`);
  return await answer.body.text();
}

function toRefusal(where: string, credentials: Credentials | undefined, outcome: string): string {
  if (credentials === undefined)
    return `${where} wants a user (401); set ${KEYS.username}, and ${KEYS.passwordFile} or ${KEYS.passwordEnv}.`;
  if (outcome === 'unanswerable')
    return `${where} wants a login (401), but not by Digest with MD5 or SHA-256 and qop=auth; let it offer that.`;
  return `${where} refused the user or the password (401), or has locked the user out; see ${KEYS.username} and ${KEYS.passwordFile} or ${KEYS.passwordEnv}.`;
}

async function readAuthorities(file: string): Promise<Buffer> {
  try {
    return await readRegularFile(file, MAX_CA_BYTES);
  } catch (cause) {
    const reason = toFileReason(cause);
    throw new JvmSourceError('D2S_ERR_JVM_ACCESS', `The file ${file} (${KEYS.caFile}) cannot be read (${reason}).`);
  }
}

function toList(field: string | string[] | undefined): readonly string[] {
  return typeof field === 'string' ? [field] : (field ?? []);
}
