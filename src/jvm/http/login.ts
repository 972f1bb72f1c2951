/** Logs in by Basic or by Digest (RFC 7616, with MD5 or SHA-256 and `qop=auth`), and backs off after a refusal. */
import { createHash, randomBytes } from 'node:crypto';
import { type Clock, NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import { JvmSourceError } from '../jvm-source.ts';
import { type Credentials, isSame } from './server-credentials.ts';

type DigestChallenge = NonNullable<ReturnType<typeof parseDigestChallenge>>;

interface DigestRequest {
  readonly method: 'GET' | 'POST';
  /** As in the request line, query included. */
  readonly target: string;
  /** How often this nonce has been used, including this time. */
  readonly nonceCount: number;
  readonly cnonce: string;
}

const HASHES = { MD5: 'md5', 'SHA-256': 'sha256' } as const;
const MAX_FIELD_CHARS = 8192;
const MAX_CHALLENGES = 16;

/**
 * The strongest usable challenge in the `WWW-Authenticate` fields, each of which may contain several (RFC 9110
 * §11.6.1). Undefined if none has a nonce, `qop=auth` and one of the two algorithms.
 */
export function selectChallenge(fields: readonly string[]): DigestChallenge | undefined {
  const usable = fields
    .flatMap(splitChallenges)
    .slice(0, MAX_CHALLENGES)
    .map(parseDigestChallenge)
    .filter((challenge) => challenge !== undefined);
  return usable.find(({ algorithm }) => algorithm === 'SHA-256') ?? usable[0];
}

/** The value of `Authorization` (RFC 7616 §3.4). */
export function answerChallenge(
  challenge: DigestChallenge,
  { username, password }: Credentials,
  { method, target, nonceCount, cnonce }: DigestRequest,
): string {
  const { algorithm, realm, nonce, opaque } = challenge;
  const hash = (text: string) => createHash(HASHES[algorithm]).update(text, 'utf8').digest('hex');
  const nc = nonceCount.toString(16).padStart(8, '0');
  const secret = hash(`${username}:${realm}:${password}`);
  const response = hash(`${secret}:${nonce}:${nc}:${cnonce}:auth:${hash(`${method}:${target}`)}`);
  const parameters = [
    formatUserName(username),
    `realm=${quote(realm)}`,
    `uri=${quote(target)}`,
    `algorithm=${algorithm}`,
    `nonce=${quote(nonce)}`,
    `nc=${nc}`,
    `cnonce=${quote(cnonce)}`,
    'qop=auth',
    `response=${quote(response)}`,
    ...(opaque === undefined ? [] : [`opaque=${quote(opaque)}`]),
  ];
  return `Digest ${parameters.join(', ')}`;
}

interface Challenge {
  readonly scheme: string;
  readonly parameters: Map<string, string>;
}

function parseDigestChallenge({ scheme, parameters }: Challenge) {
  const nonce = parameters.get('nonce');
  const algorithm = (parameters.get('algorithm') ?? 'MD5').toUpperCase();
  const qop = (parameters.get('qop') ?? '').toLowerCase().split(/[\s,]+/);
  if (scheme !== 'digest' || nonce === undefined || !qop.includes('auth')) return undefined;
  if (algorithm !== 'MD5' && algorithm !== 'SHA-256') return undefined;
  return {
    algorithm,
    nonce,
    realm: parameters.get('realm') ?? '',
    opaque: parameters.get('opaque'),
    /** The nonce has expired; the server did not check the password. */
    isStale: parameters.get('stale')?.toLowerCase() === 'true',
  } as const;
}

/** `Digest a="1", b=2, Basic realm="x"` is two challenges: a token without `=` after it starts a new one. */
function splitChallenges(field: string): Challenge[] {
  const challenges: Challenge[] = [];
  const item = /([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?:[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|[^\s,"]*))?[\s,]*/gy;
  for (const [, token = '', value] of field.trimStart().slice(0, MAX_FIELD_CHARS).matchAll(item)) {
    if (value === undefined) challenges.push({ scheme: token.toLowerCase(), parameters: new Map() });
    else challenges.at(-1)?.parameters.set(token.toLowerCase(), unquote(value));
  }
  return challenges;
}

function unquote(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
}

function quote(value: string): string {
  return `"${value.replace(/[\\"]/g, '\\$&')}"`;
}

/** A non-ASCII name has no quoted form (RFC 7616 §3.4, RFC 8187 §3.2). */
function formatUserName(username: string): string {
  if (/^[\x20-\x7e]*$/.test(username)) return `username=${quote(username)}`;
  const encoded = encodeURIComponent(username).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `username*=UTF-8''${encoded}`;
}

/** The credentials were refused, or no challenge can be answered. */
export type LoginRefusal = 'refused' | 'unanswerable';

export type Login = Pick<DigestLogin, 'authorize' | 'challenged' | 'accepted'>;

/** RFC 7617. Sent at once: the address is fixed, and waiting for a challenge would double each reading. */
export const BASIC_LOGIN: Login = {
  authorize: (_request, credentials) =>
    credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`,
  challenged: () => 'refused',
  accepted: () => undefined,
};

const CNONCE_BYTES = 16;
/** `nc` has eight hexadecimal digits. */
const MAX_NONCE_COUNT = 0xffff_ffff;

/** RFC 7616. Reuses one nonce with a growing count for many readings, so that a reading takes one request. */
export class DigestLogin {
  /** How often its nonce has been used, and the credentials that the server has accepted with it. */
  #current: { readonly challenge: DigestChallenge; count: number; provenBy?: Credentials | undefined } | undefined;

  /** The value of `Authorization`, or undefined to send none. */
  authorize(
    request: Pick<DigestRequest, 'method' | 'target'>,
    credentials: Credentials | undefined,
  ): string | undefined {
    if (this.#current?.count === MAX_NONCE_COUNT) this.#current = undefined;
    const current = this.#current;
    if (credentials === undefined || current === undefined) return undefined;
    current.count += 1;
    const cnonce = randomBytes(CNONCE_BYTES).toString('hex');
    return answerChallenge(current.challenge, credentials, { ...request, nonceCount: current.count, cnonce });
  }

  /** Result of a 401; `retry` means with a new `authorize`. */
  challenged(fields: readonly string[], credentials: Credentials | undefined): 'retry' | LoginRefusal {
    const last = this.#current;
    const next = selectChallenge(fields);
    const wasProven = last?.provenBy !== undefined && isSame(last.provenBy, credentials);
    const wasSent = last !== undefined && last.count > 0;
    this.#current = next && { challenge: next, count: 0 };
    if (credentials === undefined) return 'refused';
    if (next === undefined) return 'unanswerable';
    // A restarted server does not know its old nonce, and not every server then sends `stale`.
    const mayBeOld = next.isStale || (wasProven && next.nonce !== last.challenge.nonce);
    return !wasSent || mayBeOld ? 'retry' : 'refused';
  }

  accepted(credentials: Credentials | undefined): void {
    if (this.#current !== undefined) this.#current.provenBy = credentials;
  }
}

/** 60 s, 120, 240, ...: three tries in the five minutes in which Tomcat's LockOutRealm allows five. */
const FIRST_WAIT_S = 60;
const LONGEST_WAIT_S = 15 * 60;

interface Refusal {
  readonly credentials: Credentials | undefined;
  readonly waitS: number;
  readonly notBeforeNs: number;
  readonly error: JvmSourceError;
}

/**
 * Prevents sending a wrong password at every poll: servers lock the user out, and then refuse even the right one.
 * Changed credentials are tried at once.
 */
export class LoginBackOff {
  readonly #clock: Clock;
  #last: Refusal | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws the last refusal again, with the same message, until its wait is over. */
  check(credentials: Credentials | undefined): void {
    const last = this.#last;
    if (last === undefined || !isSame(last.credentials, credentials)) return;
    if (this.#clock.nowNs() < last.notBeforeNs) throw last.error;
  }

  /** Records a 401, returns the error. `reason`: e.g. `http://127.0.0.1:8080/manager refused the password (401).` */
  refused(credentials: Credentials | undefined, reason: string): JvmSourceError {
    const before = this.#last;
    const isAgain = before !== undefined && isSame(before.credentials, credentials);
    const waitS = isAgain ? Math.min(before.waitS * 2, LONGEST_WAIT_S) : FIRST_WAIT_S;
    // A point in time, not a remaining time: the message stays the same during the wait, and is logged once.
    const until = new Date(this.#clock.epochMs() + (waitS * NS_PER_S) / NS_PER_MS).toISOString();
    const error = new JvmSourceError(
      'D2S_ERR_JVM_ACCESS',
      `${reason} To avoid a lockout, the same credentials are not tried again before ${until}; a changed jvm.http.passwordFile is tried at once.`,
    );
    this.#last = { credentials, waitS, notBeforeNs: this.#clock.nowNs() + waitS * NS_PER_S, error };
    return error;
  }

  accepted(): void {
    this.#last = undefined;
  }
}
