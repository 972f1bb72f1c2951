/**
 * Checks credentials. A credential that was right before costs almost nothing. The time of a check does not reveal
 * whether a user name exists. A flood of wrong credentials does not lock out a right one (see `check`).
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import QuickLRU from 'quick-lru';
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { counter, type MetricDescription } from '../../base/metric-description.ts';
import { addressKeyOf } from '../../limits/address-counts.ts';
import { MAX_ENTRIES, type TokenEntry, type UserEntry } from './access-lines.ts';
import type { AccessList } from './access-list.ts';
import { createDecoy, hashToken, isPassword, type PasswordHash } from './password-hash.ts';
import { type Credential, parseAuthorization } from './presented.ts';
import type { Reader } from './reader.ts';

interface Presented {
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
  /** `retryAfterS` is above 0 if the address had too many wrong credentials before. */
  | { readonly kind: 'wrong'; readonly retryAfterS: number }
  /** Not verified, since too many passwords wait, or since the address has too many wrong ones (`retryAfterS` above 0). */
  | { readonly kind: 'unverified'; readonly retryAfterS: number };

type PasswordCredential = Extract<Credential, { kind: 'password' }>;

const MAX_PROVEN = 1_000;

export class AccessControl {
  readonly #verifyHash: typeof isPassword;
  readonly #limit: FailureLimit;
  readonly #queue = new VerificationQueue();
  /** Waiting and running verifications: simultaneous requests of an address with one password share one, and one failure. */
  readonly #verifications = new Map<string, Promise<Verdict>>();
  /** Never leaves the process, so fingerprints cannot be compared with anything else. */
  readonly #key = randomBytes(32);
  readonly #right = new QuickLRU<string, true>({ maxSize: MAX_ENTRIES });
  /** Addresses from which a password was right of late; their next ones need not wait for a flood of others. */
  readonly #proven = new QuickLRU<string, true>({ maxSize: MAX_PROVEN });
  /** `limited`: answered with 429, or with 503 because the queue was full; of these, `unchecked` were not verified. */
  readonly #counts = { wrong: 0, limited: 0, unchecked: 0 };
  #list: AccessList;

  /** Tests replace `verify` to see what is verified. */
  constructor(list: AccessList, clock: Clock, verify: typeof isPassword = isPassword) {
    this.#list = list;
    this.#verifyHash = verify;
    this.#limit = new FailureLimit(clock);
  }

  /** Of requests since the start. `forgotten`: addresses with failures that were evicted for other addresses. */
  get counts() {
    return { ...this.#counts, forgotten: this.#limit.evicted };
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
   * was right before, is checked at once, whatever failures its address has. Any other password waits in the queue,
   * which may evict it. It does not wait if its address had too many failures: one address does
   * not keep those of others waiting.
   */
  async check({ authorization, address, certificateName }: Presented): Promise<Verdict> {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) {
      // The handshake has proved the name: nothing to guess or to count. An unlisted name is the same as none.
      const entry = this.#list.certificates.get(certificateName ?? '');
      return entry === undefined ? { kind: 'missing' } : known(entry);
    }
    const key = addressKeyOf(address);
    const verdict =
      credential.kind === 'token'
        ? this.#checkToken(credential.token, key)
        : await this.#checkPassword(credential, key);
    this.#count(verdict);
    return verdict;
  }

  #count(verdict: Verdict): void {
    if (verdict.kind === 'wrong') this.#counts.wrong++;
    if (verdict.kind === 'unverified') this.#counts.unchecked++;
    if (verdict.kind === 'unverified' || (verdict.kind === 'wrong' && verdict.retryAfterS > 0)) this.#counts.limited++;
  }

  /** `retryAfterS` is the value before this failure was counted. */
  #fail(address: string): Verdict {
    const retryAfterS = this.#limit.retryAfterS(address);
    this.#limit.add(address);
    return { kind: 'wrong', retryAfterS };
  }

  /** Compares with all tokens, so that the time does not reveal the position. */
  #checkToken(token: string, address: string): Verdict {
    const tokenHash = hashToken(token);
    let found: TokenEntry | undefined;
    for (const entry of this.#list.tokens) if (timingSafeEqual(entry.tokenHash, tokenHash)) found = entry;
    return found === undefined ? this.#fail(address) : known(found);
  }

  async #checkPassword(credential: PasswordCredential, address: string): Promise<Verdict> {
    const fingerprint = this.#fingerprintOf(credential);
    const proven = this.#findProven(credential, fingerprint);
    if (proven !== undefined) return known(proven);
    const key = `${address}\n${fingerprint}`;
    const shared = this.#verifications.get(key);
    if (shared !== undefined) return await shared;
    const unverified = (): Verdict => ({ kind: 'unverified', retryAfterS: this.#limit.retryAfterS(address) });
    if (this.#queue.isBusy && this.#limit.retryAfterS(address) > 0) return unverified();
    const verification = this.#queue
      .run(() => this.#verify(credential, address), this.#proven.has(address))
      .then((verdict) => verdict ?? unverified())
      .finally(() => this.#verifications.delete(key));
    this.#verifications.set(key, verification);
    return await verification;
  }

  async #verify(credential: PasswordCredential, address: string): Promise<Verdict> {
    const { name, password } = credential;
    const fingerprint = this.#fingerprintOf(credential);
    // Another address may have verified the same password while this one waited.
    const proven = this.#findProven(credential, fingerprint);
    if (proven !== undefined) return known(proven);
    // Without any user there is nothing to hide and nothing to verify.
    const expected = this.#list.users.get(name)?.password ?? this.#decoyFor(name);
    if (expected === undefined || !(await this.#verifyHash(password, expected))) return this.#fail(address);
    // A reload may have removed the user or changed the password meanwhile.
    const entry = this.#list.users.get(name);
    if (entry === undefined || this.#fingerprintOf(credential) !== fingerprint) return this.#fail(address);
    this.#right.set(fingerprint, true);
    this.#proven.set(address, true);
    return known(entry);
  }

  /** The user, if the password was right before. */
  #findProven({ name }: PasswordCredential, fingerprint: string): UserEntry | undefined {
    return this.#right.has(fingerprint) ? this.#list.users.get(name) : undefined;
  }

  /** Of the credential and the hash that it is compared with: another password in the file gives another fingerprint. */
  #fingerprintOf({ name, password }: PasswordCredential): string {
    return this.#digest(JSON.stringify([name, password, this.#list.users.get(name)?.hashText]));
  }

  #digest(text: string): string {
    return createHmac('sha256', this.#key).update(text, 'utf8').digest('base64');
  }

  /** A decoy as costly as a real hash. If costs differ, a name always gets the cost of the same real user. */
  #decoyFor(name: string): PasswordHash | undefined {
    const users = [...this.#list.users.values()];
    const pick = Buffer.from(this.#digest(name), 'base64').readUInt32BE();
    const like = users[pick % users.length];
    return like && createDecoy(like.password);
  }
}

function known({ name, role }: Reader): Verdict {
  return { kind: 'known', reader: { name, role } };
}

export const ACCESS_METRICS: readonly MetricDescription<AccessControl['counts']>[] = [
  counter('d2_sidecar_monitor_wrong_credentials_total', 'Wrong credentials on the monitoring port.', 'wrong'),
  counter('d2_sidecar_monitor_limited_requests_total', 'Monitoring requests answered with 429.', 'limited'),
  counter(
    'd2_sidecar_monitor_unverified_passwords_total',
    'Requests whose password was not verified, since too many were waiting.',
    'unchecked',
  ),
  counter(
    'd2_sidecar_monitor_forgotten_addresses_total',
    'Addresses with wrong credentials evicted by others.',
    'forgotten',
  ),
];

/** All of them take 13 s, one after the other. */
const MAX_WAITING = 64;

/** Called with false if evicted. Queues of these are oldest first. */
type Waiting = (isNext: boolean) => void;

/**
 * Verifies one password at a time: it takes 32 MiB and 0.2 s of a processor that the traffic needs too. Preferred ones
 * come first. Among equals the newest is next, since a queued flood is older than a reader who arrives now. If the queue
 * is full, the oldest is evicted, and a preferred one only if all are.
 */
class VerificationQueue {
  readonly #preferred: Waiting[] = [];
  readonly #others: Waiting[] = [];
  isBusy = false;

  /** Runs `work` when it is its turn. The outcome is undefined after an eviction. */
  async run<T>(work: () => Promise<T>, isPreferred = false): Promise<T | undefined> {
    if (this.isBusy && !(await this.#wait(isPreferred))) return undefined;
    this.isBusy = true;
    try {
      return await work();
    } finally {
      const next = this.#preferred.pop() ?? this.#others.pop();
      this.isBusy = next !== undefined;
      next?.(true);
    }
  }

  #wait(isPreferred: boolean): Promise<boolean> {
    return new Promise((settle) => {
      (isPreferred ? this.#preferred : this.#others).push(settle);
      if (this.#preferred.length + this.#others.length <= MAX_WAITING) return;
      const evicted = this.#others.shift() ?? this.#preferred.shift();
      evicted?.(false);
    });
  }
}

/** Wrong credentials in a row that count as typing mistakes. */
const BURST = 10;
/** An address may fail once more after each of these intervals. */
const REFILL_S = 6;
/** About 1 MB of memory. */
const MAX_ADDRESSES = 10_000;

/** Counts wrong credentials by address. It only reports that an address has reached its limit. */
export class FailureLimit {
  readonly #clock: Clock;
  /** When the failures of an address are all forgiven. The address that failed last is last. */
  readonly #forgivenNs = new Map<string, number>();
  evicted = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds until the address may fail once more, at least 1; 0 if it may now. */
  retryAfterS(address: string): number {
    const excessS = this.#leftS(address) - (BURST - 1) * REFILL_S;
    return excessS <= 0 ? 0 : Math.max(1, Math.ceil(excessS));
  }

  add(address: string): void {
    // Capped at BURST, so that an hour of failures does not lengthen the wait.
    const leftS = Math.min(BURST * REFILL_S, this.#leftS(address) + REFILL_S);
    this.#forgivenNs.delete(address);
    const [oldest] = this.#forgivenNs.keys();
    if (this.#forgivenNs.size >= MAX_ADDRESSES && oldest !== undefined) {
      this.#forgivenNs.delete(oldest);
      this.evicted += 1;
    }
    this.#forgivenNs.set(address, this.#clock.nowNs() + leftS * NS_PER_S);
  }

  #leftS(address: string): number {
    return Math.max(0, ((this.#forgivenNs.get(address) ?? 0) - this.#clock.nowNs()) / NS_PER_S);
  }
}
