/**
 * Checks credentials. A credential that was right before costs almost nothing. The time of a check does not reveal
 * whether a user name exists. A flood of wrong credentials does not lock out a right one (see `check`).
 */

import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import QuickLRU from 'quick-lru';
import type { Clock } from '../../base/clock.ts';
import { counter, type MetricDescription } from '../../base/metric-description.ts';
import { addressKeyOf } from '../../limits/address-key.ts';
import type { TokenEntry, UserEntry } from './access-lines.ts';
import type { AccessList } from './access-list.ts';
import { FailureLimit } from './failure-limit.ts';
import { createDecoy, isPassword, type PasswordHash } from './password-hash.ts';
import { type Credential, parseAuthorization } from './presented.ts';
import type { Reader } from './reader.ts';
import { hashToken } from './token-hash.ts';
import { VerificationQueue } from './verification-queue.ts';

/** What a request presents to identify its sender. */
export interface Presented {
  /** The unparsed `Authorization` field. */
  readonly authorization: string | undefined;
  /** The peer address of the connection, e.g. `127.0.0.1`; never from a header field, which any client can forge. */
  readonly address: string;
  /** Common name of the verified client certificate of the connection. */
  readonly certificateName?: string | undefined;
}

export type Verdict =
  | { readonly kind: 'known'; readonly reader: Reader }
  /** No credential, or an unreadable one. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'wrong' }
  /** The address had too many wrong credentials: this one is wrong too, or was not verified. */
  | { readonly kind: 'over-limit'; readonly retryAfterS: number }
  /** Not verified, because the queue is full. The address has not reached its own limit. */
  | { readonly kind: 'busy'; readonly retryAfterS: number };

/** Result of a check; `retryAfterS` is the value before this failure was counted. */
type Finding = { readonly reader: Reader } | { readonly reader: undefined; readonly retryAfterS: number };

interface Verification {
  /** Undefined for an unknown user, whose `expected` is a decoy. */
  readonly entry: UserEntry | undefined;
  readonly expected: PasswordHash;
  readonly fingerprint: Buffer;
  readonly address: string;
}

/** Totals since the start. */
export interface AccessCounts {
  readonly wrong: number;
  /** Requests answered with 429, or with 503 because the queue was full. */
  readonly limited: number;
  /** Of these, requests whose password was not verified. */
  readonly unchecked: number;
  /** Addresses with failures that were evicted for other addresses. */
  readonly forgotten: number;
}

/** By then the passwords that evicted this one from the queue are verified, or evicted as well. */
const BUSY_RETRY_S = 1;
const MAX_PROVEN = 1_000;

export class AccessControl {
  readonly #verifyHash: typeof isPassword;
  readonly #limit: FailureLimit;
  readonly #queue = new VerificationQueue();
  /** Running verifications by address, name and password: requests that are sent at once share one, and one failure. */
  readonly #shared = new Map<string, Promise<Finding | undefined>>();
  /** Never leaves the process, so the cached hashes cannot be compared with anything else. */
  readonly #key = randomBytes(32);
  /** Right passwords as keyed hashes: at most one for each entry of the list, collected together with it. */
  readonly #right = new WeakMap<UserEntry, Buffer>();
  /** Addresses from which a password was right of late; their next ones need not wait for a flood of others. */
  readonly #proven = new QuickLRU<string, true>({ maxSize: MAX_PROVEN });
  #list: AccessList;
  #wrongCount = 0;
  #limitedCount = 0;
  #uncheckedCount = 0;

  /** Tests replace `verify` to see what is verified. */
  constructor(list: AccessList, clock: Clock, verify: typeof isPassword = isPassword) {
    this.#list = list;
    this.#verifyHash = verify;
    this.#limit = new FailureLimit(clock);
  }

  get counts(): AccessCounts {
    return {
      wrong: this.#wrongCount,
      limited: this.#limitedCount,
      unchecked: this.#uncheckedCount,
      forgotten: this.#limit.evicted,
    };
  }

  /** Replaces the list of readers. Counters and recent failures of addresses stay. */
  useList(list: AccessList): void {
    this.#list = list;
  }

  /** The kinds of credential that exist, which a challenge has to offer. */
  get schemes(): { readonly hasUsers: boolean; readonly hasTokens: boolean } {
    return { hasUsers: this.#list.users.size > 0, hasTokens: this.#list.tokens.length > 0 };
  }

  /**
   * A credential in the request takes precedence over the certificate of its connection. A token, or a password that
   * was right before, is checked at once, whatever failures its address has. Any other password waits in the queue
   * (verification-queue.ts). It is refused unverified with 503 if the queue evicts it, and with 429 if its address had
   * too many failures and would have to wait: one address does not keep those of others waiting.
   */
  async check({ authorization, address, certificateName }: Presented): Promise<Verdict> {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) return this.#checkCertificate(certificateName);
    const key = addressKeyOf(address);
    const finding =
      credential.kind === 'token'
        ? this.#checkToken(credential.token, key)
        : await this.#checkPassword(credential, key);
    if (finding === undefined) return this.#refuse(key);
    if (finding.reader !== undefined) return { kind: 'known', reader: finding.reader };
    this.#wrongCount++;
    if (finding.retryAfterS === 0) return { kind: 'wrong' };
    this.#limitedCount++;
    return { kind: 'over-limit', retryAfterS: finding.retryAfterS };
  }

  /** The handshake has proved the name: nothing to guess or to count. An unlisted name is the same as none. */
  #checkCertificate(name: string | undefined): Verdict {
    const entry = name === undefined ? undefined : this.#list.certificates.get(name);
    return entry === undefined ? { kind: 'missing' } : { kind: 'known', reader: selectReader(entry) };
  }

  #refuse(address: string): Verdict {
    this.#uncheckedCount++;
    this.#limitedCount++;
    const retryAfterS = this.#limit.retryAfterS(address);
    return retryAfterS > 0 ? { kind: 'over-limit', retryAfterS } : { kind: 'busy', retryAfterS: BUSY_RETRY_S };
  }

  #fail(address: string): Finding {
    const retryAfterS = this.#limit.retryAfterS(address);
    this.#limit.add(address);
    return { reader: undefined, retryAfterS };
  }

  /** Compares with all tokens, so that the time does not reveal the position. */
  #checkToken(token: string, address: string): Finding {
    const tokenHash = hashToken(token);
    let found: TokenEntry | undefined;
    for (const entry of this.#list.tokens) if (timingSafeEqual(entry.tokenHash, tokenHash)) found = entry;
    return found === undefined ? this.#fail(address) : { reader: selectReader(found) };
  }

  async #checkPassword(
    { name, password }: Credential & { kind: 'password' },
    address: string,
  ): Promise<Finding | undefined> {
    const entry = this.#list.users.get(name);
    const fingerprint = createHmac('sha256', this.#key).update(password, 'utf8').digest();
    if (entry !== undefined && this.#wasRight(entry, fingerprint)) return { reader: selectReader(entry) };
    // Without any user there is nothing to hide and nothing to verify.
    const expected = entry?.password ?? this.#decoyFor(name);
    if (expected === undefined) return this.#fail(address);
    const key = `${address}\n${fingerprint.toString('base64')}${name}`;
    const shared = this.#shared.get(key);
    if (shared !== undefined) return await shared;
    if (this.#queue.isBusy && this.#limit.retryAfterS(address) > 0) return undefined;
    const verify = () => this.#verify({ name, password }, { entry, expected, fingerprint, address });
    const verification = this.#queue.run(verify, this.#proven.has(address));
    this.#shared.set(key, verification);
    return await verification.finally(() => this.#shared.delete(key));
  }

  async #verify(
    { name, password }: { readonly name: string; readonly password: string },
    { entry, expected, fingerprint, address }: Verification,
  ): Promise<Finding> {
    // Another address may have verified the same password while this one waited.
    const wasRight = entry !== undefined && this.#wasRight(entry, fingerprint);
    const isRight = wasRight || (await this.#verifyHash(password, expected));
    // A reload may have removed the user or changed the password meanwhile.
    if (!isRight || entry === undefined || this.#list.users.get(name) !== entry) return this.#fail(address);
    this.#right.set(entry, fingerprint);
    this.#proven.set(address, true);
    return { reader: selectReader(entry) };
  }

  #wasRight(entry: UserEntry, fingerprint: Buffer): boolean {
    const right = this.#right.get(entry);
    return right !== undefined && timingSafeEqual(right, fingerprint);
  }

  /** A decoy as costly as a real hash. If costs differ, a name always gets the cost of the same real user. */
  #decoyFor(name: string): PasswordHash | undefined {
    const users = [...this.#list.users.values()];
    const pick = Buffer.from(hash('sha256', `${this.#key.toString('base64')}${name}`, 'hex'), 'hex').readUInt32BE();
    const like = users[pick % users.length];
    return like && createDecoy(like.password);
  }
}

function selectReader({ name, role }: Reader): Reader {
  return { name, role };
}

export const ACCESS_METRICS: readonly MetricDescription<AccessCounts>[] = [
  counter(
    'd2_sidecar_monitor_wrong_credentials_total',
    'Wrong credentials on the monitoring port.',
    ({ wrong }) => wrong,
  ),
  counter(
    'd2_sidecar_monitor_limited_requests_total',
    'Requests on the monitoring port answered with 429.',
    ({ limited }) => limited,
  ),
  counter(
    'd2_sidecar_monitor_unverified_passwords_total',
    'Requests on the monitoring port whose password was not verified, since too many were waiting.',
    ({ unchecked }) => unchecked,
  ),
  counter(
    'd2_sidecar_monitor_forgotten_addresses_total',
    'Addresses with wrong credentials evicted by others.',
    ({ forgotten }) => forgotten,
  ),
];
