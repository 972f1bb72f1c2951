/**
 * Reads the JVM's condition over HTTP, with read-only requests at one address of the configuration. It takes no input
 * from a caller, follows no redirect, and gives up on late or oversized answers.
 */
import { Client, type Dispatcher } from 'undici';
import type { Clock } from '../../base/clock.ts';
import { parseCodings } from '../../base/content-codings.ts';
import { attemptTimeoutMs } from '../../base/dial.ts';
import type { JvmHttpKind, JvmHttpSource } from '../../config/config.ts';
import { type Authorities, createAuthoritiesReader } from '../../tls/authorities.ts';
import { indicatedName } from '../../tls/policy.ts';
import { type JvmReading, type JvmSource, JvmSourceError } from '../jvm-source.ts';
import { type Advice, createStatusError, createWireError } from './http-errors.ts';
import { formatError } from './json.ts';
import { BASIC_LOGIN, DigestLogin, type Login, LoginBackOff, type LoginRefusal } from './login.ts';
import type { Credentials, CredentialsReader } from './server-credentials.ts';

interface ServerRequest {
  /** Appended to the address's path, e.g. `/status?JSON=true`. */
  readonly path: string;
  /** JSON. With a body the request is a POST. */
  readonly body?: string;
}

/** One kind of server: its requests, and how to read the answers. */
export interface HttpKind extends ServerRequest {
  readonly name: JvmHttpKind;
  /** E.g. `/manager`: used if the configured address has no path. */
  readonly defaultPath: string;
  readonly accept: string;
  /** Optional requests, for values that not every server has or shows. A failure leaves these values out. */
  readonly further?: readonly ServerRequest[];
  readonly advice: Advice;
  /** Logs in by Digest (RFC 7616); otherwise by Basic. */
  readonly hasDigest?: boolean;
  /** Converts the text of a 200 answer and those of `further` (undefined without an answer). Throws JvmSourceError. */
  parse(text: string, further: readonly (string | undefined)[]): JvmReading;
}

export interface HttpSourceOptions extends Pick<JvmHttpSource, 'url' | 'caFile' | 'serverName'> {
  readonly credentials?: CredentialsReader | undefined;
  /** Longest time of a reading. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
}

/** Bytes of an answer. The largest measured is 54 KB; a registry with every metric of an application reaches 300 KB. */
const MAX_ANSWER_BYTES = 512 * 1024;
/** Bytes of a 401 page to read and discard. */
const MAX_REFUSAL_BYTES = 16 * 1024;
const MAX_HEAD_BYTES = 16 * 1024;
/** One try without a nonce, one with an expired nonce, one with a new nonce. */
const MAX_TRIES = 3;
/** That of `jvm.timeout`. */
const DEFAULT_TIMEOUT_MS = 2_000;

export class HttpSource implements JvmSource {
  readonly name: string;
  readonly #kind: HttpKind;
  readonly #options: HttpSourceOptions;
  readonly #address: URL;
  /** E.g. `/manager`; empty for the root. */
  readonly #basePath: string;
  /** For messages, e.g. `http://127.0.0.1:8080/manager/status`. */
  readonly #where: string;
  readonly #login: Login;
  readonly #backOff: LoginBackOff;
  readonly #readAuthorities: () => Promise<Authorities | undefined>;
  #underWay: Client | undefined;

  constructor(kind: HttpKind, options: HttpSourceOptions) {
    this.name = kind.name;
    this.#kind = kind;
    this.#options = options;
    this.#address = new URL(options.url);
    const { origin, pathname } = this.#address;
    this.#basePath = (pathname === '/' ? kind.defaultPath : pathname).replace(/\/+$/, '');
    this.#where = `${origin}${this.#basePath}${kind.path.replace(/\?.*$/s, '')}`;
    this.#login = kind.hasDigest ? new DigestLogin() : BASIC_LOGIN;
    this.#backOff = new LoginBackOff(options.clock);
    const { caFile: file } = options;
    const createError = (message: string) => new JvmSourceError('D2S_ERR_JVM_ACCESS', message);
    this.#readAuthorities = createAuthoritiesReader({ key: 'jvm.http.caFile', file, createError });
  }

  close(): void {
    this.#underWay?.destroy().catch(() => undefined);
  }

  async read(signal: AbortSignal): Promise<JvmReading> {
    let client: Client | undefined;
    try {
      const credentials = await this.#options.credentials?.();
      this.#backOff.check(credentials);
      client = await this.#connect();
      this.#underWay = client;
      const { answer, refusal } = await this.#logIn(client, this.#kind, credentials, signal);
      if (refusal !== undefined)
        throw this.#backOff.refused(credentials, describeRefusal(this.#where, credentials, refusal));
      if (answer.statusCode !== 200) throw createStatusError(answer.statusCode, this.#where, this.#kind.advice);
      if (!isPlain(answer))
        throw formatError(
          `${this.#where} answered with a Content-Encoding, where identity was asked for. It is not decoded; switch compression off there.`,
        );
      const text = await answer.body.text();
      // Throws for an unusable answer: the server then gets no further requests.
      this.#kind.parse(text, []);
      const further: (string | undefined)[] = [];
      for (const request of this.#kind.further ?? []) {
        further.push(await readOptional(this.#logIn(client, request, credentials, signal), signal));
      }
      return this.#kind.parse(text, further);
    } catch (cause) {
      throw createWireError(cause, this.#where, signal);
    } finally {
      this.#underWay = undefined;
      // No keep-alive: between two polls the server would close an idle connection. This also drops unread bodies.
      client?.destroy().catch(() => undefined);
    }
  }

  async #connect(): Promise<Client> {
    const { serverName, timeoutMs = DEFAULT_TIMEOUT_MS } = this.#options;
    const authorities = await this.#readAuthorities();
    return new Client(this.#address.origin, {
      connect: {
        ...(authorities && { secureContext: authorities.secureContext }),
        servername: indicatedName(serverName ?? this.#address.hostname),
        autoSelectFamilyAttemptTimeout: attemptTimeoutMs(timeoutMs),
      },
      maxResponseSize: MAX_ANSWER_BYTES,
      maxHeaderSize: MAX_HEAD_BYTES,
      // The reading's signal bounds both.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Sends the request, again if the server's challenge suggests it. `refusal`: why a 401 is final. */
  async #logIn(
    client: Client,
    { path: kindPath, body }: ServerRequest,
    credentials: Credentials | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly answer: Dispatcher.ResponseData; readonly refusal?: LoginRefusal }> {
    const method = body === undefined ? 'GET' : 'POST';
    const path = `${this.#basePath}${kindPath}`;
    for (let tries = 1; ; tries += 1) {
      const authorization = this.#login.authorize({ method, target: path }, credentials);
      const headers = {
        accept: this.#kind.accept,
        // A small compressed body could become a large one, and a decoder may have holes.
        'accept-encoding': 'identity',
        'user-agent': 'd2-sidecar',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(authorization === undefined ? {} : { authorization }),
      };
      const answer = await client.request({ method, path, headers, body: body ?? null, signal });
      if (answer.statusCode !== 401) {
        if (answer.statusCode === 200 || answer.statusCode === 403) {
          this.#login.accepted(credentials);
          this.#backOff.accepted();
        }
        return { answer };
      }
      const outcome = this.#login.challenged(fieldValues(answer.headers['www-authenticate']), credentials);
      if (outcome !== 'retry') return { answer, refusal: outcome };
      if (tries === MAX_TRIES) return { answer, refusal: 'refused' };
      await answer.body.dump({ limit: MAX_REFUSAL_BYTES, signal });
    }
  }
}

/** The text of an answer that may be missing. */
async function readOptional(answered: Promise<{ readonly answer: Dispatcher.ResponseData }>, signal: AbortSignal) {
  try {
    const { answer } = await answered;
    if (answer.statusCode === 200 && isPlain(answer)) return await answer.body.text();
    // Unread, it would hold up the next request.
    await answer.body.dump({ limit: MAX_REFUSAL_BYTES, signal });
  } catch (cause) {
    // The time limit covers the whole reading.
    if (signal.aborted) throw cause;
  }
  return undefined;
}

/** Undici's `request` decodes nothing, unlike its `fetch`. */
function isPlain({ headers }: Dispatcher.ResponseData): boolean {
  return parseCodings(fieldValues(headers['content-encoding']).join()).length === 0;
}

function describeRefusal(where: string, credentials: Credentials | undefined, refusal: LoginRefusal): string {
  if (credentials === undefined)
    return `${where} requires a login (401); set jvm.http.username, and jvm.http.passwordFile or jvm.http.passwordEnv.`;
  if (refusal === 'unanswerable')
    return `${where} requires a login (401), but does not offer Digest with MD5 or SHA-256 and qop=auth; enable that there.`;
  return `${where} refused the user or the password (401), or has locked the user out; see jvm.http.username and jvm.http.passwordFile or jvm.http.passwordEnv.`;
}

function fieldValues(field: string | string[] | undefined): readonly string[] {
  return typeof field === 'string' ? [field] : (field ?? []);
}
