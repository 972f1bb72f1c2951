/**
 * Whether a credential is right. Costs nothing worth counting for a credential that was right before; nobody learns from the time
 * it takes whether there is a user of a name; and a flood of wrong ones keeps no right one out (see `check`).
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { toAddressKey } from '../../limits/address-key.ts';
import type { TokenEntry, UserEntry } from './access-lines.ts';
import type { AccessList } from './access-list.ts';
import { FailureLimit } from './failure-limit.ts';
import { createDecoy, isPassword, type PasswordHash } from './password-hash.ts';
import { type Credential, parseAuthorization } from './presented.ts';
import type { Reader } from './reader.ts';
import { toTokenHash } from './token-hash.ts';
import { VerificationQueue } from './verification-queue.ts';

/** All of a request that may tell who sends it. */
export interface Presented {
  /** The `Authorization` field as it came. */
  readonly authorization: string | undefined;
  /** Of the other end of the connection, e.g. `127.0.0.1`; never from a field, which anybody can write. */
  readonly address: string;
  /** Common name of the client certificate that the connection was made with, which has been verified. */
  readonly certificateName?: string | undefined;
}

export type Verdict =
  | { readonly kind: 'known'; readonly reader: Reader }
  /** No credential, or none that can be read. */
  | { readonly kind: 'missing' }
  | { readonly kind: 'wrong' }
  /** The address had too many wrong ones: this one is wrong, too, or was not verified. */
  | { readonly kind: 'limited'; readonly retryAfterS: number }
  /** Not verified, since too many passwords wait for that; the address has done nothing wrong. */
  | { readonly kind: 'busy'; readonly retryAfterS: number };

/** What a credential turned out to be; `retryAfterS` as it was before this wrong one. */
type Finding = { readonly reader: Reader } | { readonly reader: undefined; readonly retryAfterS: number };

/** Counted since the start. */
export interface AccessCounts {
  /** Wrong credentials. */
  readonly wrong: number;
  /** Requests that were told to come later, by 429 or 503. */
  readonly limited: number;
  /** Of these, requests with a password that was not verified, since too many wait for that. */
  readonly unverified: number;
  /** Addresses with wrong credentials that were forgotten to make room for others. */
  readonly forgotten: number;
}

interface Expected {
  /** Undefined for an unknown user, with whom a decoy is expected. */
  readonly entry: UserEntry | undefined;
  readonly fingerprint: Buffer;
  readonly expected: PasswordHash;
}

/** By then the passwords that pushed this one out have been verified, or were pushed out as well. */
const BUSY_RETRY_S = 1;

export class AccessControl {
  readonly #verifyHash: typeof isPassword;
  readonly #limit: FailureLimit;
  readonly #queue: VerificationQueue<Finding>;
  /** Dies with the process, so that what is remembered can be compared with nothing else. */
  readonly #key = randomBytes(32);
  /** Right passwords as keyed hashes; at most one for each entry of the list, and gone with it. */
  readonly #right = new WeakMap<UserEntry, Buffer>();
  #list: AccessList;
  #wrongCount = 0;
  #limitedCount = 0;

  /** `verify` is there for tests, which look at what is verified. */
  constructor(list: AccessList, clock: Clock, verify: typeof isPassword = isPassword) {
    this.#list = list;
    this.#verifyHash = verify;
    this.#limit = new FailureLimit(clock);
    this.#queue = new VerificationQueue(this.#limit);
  }

  get counts(): AccessCounts {
    return {
      wrong: this.#wrongCount,
      limited: this.#limitedCount,
      unverified: this.#queue.refused,
      forgotten: this.#limit.evicted,
    };
  }

  /** Knows others from now on; what was counted, and which addresses failed too often, stays. */
  useList(list: AccessList): void {
    this.#list = list;
  }

  /** Which kinds of credential could be right: what a challenge has to ask for. */
  get schemes(): { readonly hasUsers: boolean; readonly hasTokens: boolean } {
    return { hasUsers: this.#list.users.size > 0, hasTokens: this.#list.tokens.length > 0 };
  }

  /**
   * What the request itself brings counts before the certificate of its connection. A token, and a password that was right before,
   * are let in at once, whatever their address has done. Another password waits for its turn to be verified
   * (verification-queue.ts). It is refused unseen only if there is no room: with 429 if its own address had too many wrong ones.
   */
  async check({ authorization, address, certificateName }: Presented): Promise<Verdict> {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) return this.#checkCertificate(certificateName);
    const key = toAddressKey(address);
    const finding =
      credential.kind === 'token'
        ? this.#checkToken(credential.token, key)
        : await this.#checkPassword(credential, key);
    if (finding === undefined) return this.#refuse(key);
    if (finding.reader !== undefined) return { kind: 'known', reader: finding.reader };
    this.#wrongCount++;
    return finding.retryAfterS > 0 ? this.#limited(finding.retryAfterS) : { kind: 'wrong' };
  }

  /** Proved by the handshake, so that there is nothing to guess or to count. One that is not listed says nothing. */
  #checkCertificate(name: string | undefined): Verdict {
    const entry = name === undefined ? undefined : this.#list.certificates.get(name);
    return entry === undefined ? { kind: 'missing' } : { kind: 'known', reader: toReader(entry) };
  }

  #limited(retryAfterS: number): Verdict {
    this.#limitedCount++;
    return { kind: 'limited', retryAfterS };
  }

  #refuse(address: string): Verdict {
    const retryAfterS = this.#limit.retryAfterS(address);
    if (retryAfterS > 0) return this.#limited(retryAfterS);
    this.#limitedCount++;
    return { kind: 'busy', retryAfterS: BUSY_RETRY_S };
  }

  #fail(address: string): Finding {
    const retryAfterS = this.#limit.retryAfterS(address);
    this.#limit.add(address);
    return { reader: undefined, retryAfterS };
  }

  #checkToken(token: string, address: string): Finding {
    const reader = this.#findToken(token);
    return reader === undefined ? this.#fail(address) : { reader };
  }

  /** Looks at all of them, so that time tells nothing of where it was found. */
  #findToken(token: string): Reader | undefined {
    const tokenHash = toTokenHash(token);
    let found: TokenEntry | undefined;
    for (const entry of this.#list.tokens) if (timingSafeEqual(entry.tokenHash, tokenHash)) found = entry;
    return found && toReader(found);
  }

  async #checkPassword(
    { name, password }: Credential & { kind: 'password' },
    address: string,
  ): Promise<Finding | undefined> {
    const entry = this.#list.users.get(name);
    const fingerprint = createHmac('sha256', this.#key).update(password, 'utf8').digest();
    if (entry !== undefined && this.#wasRight(entry, fingerprint)) return { reader: toReader(entry) };
    // Nobody has a password: nothing to hide, and nothing to verify.
    const expected = entry?.password ?? this.#decoyFor(name);
    if (expected === undefined) return this.#fail(address);
    const turn = { address, credential: `${fingerprint.toString('base64')}${name}` };
    return await this.#queue.run(turn, async () => {
      const isRight = await this.#isRight(password, { entry, fingerprint, expected });
      // The list may have been read again meanwhile, and the user be gone or have another password.
      if (!isRight || entry === undefined || this.#list.users.get(name) !== entry) {
        // Counted before the next turn is given, which goes by it. Requests that share this verification are one slip.
        return this.#fail(address);
      }
      this.#right.set(entry, fingerprint);
      return { reader: toReader(entry) };
    });
  }

  #wasRight(entry: UserEntry, fingerprint: Buffer): boolean {
    const right = this.#right.get(entry);
    return right !== undefined && timingSafeEqual(right, fingerprint);
  }

  /** Looks again at what was right: it may have been verified for another address while this one waited. */
  async #isRight(password: string, { entry, fingerprint, expected }: Expected): Promise<boolean> {
    if (entry !== undefined && this.#wasRight(entry, fingerprint)) return true;
    return await this.#verifyHash(password, expected);
  }

  /** As costly as the real ones; where these differ, each unknown name always is as costly as the same one of them. */
  #decoyFor(name: string): PasswordHash | undefined {
    const users = [...this.#list.users.values()];
    const pick = Buffer.from(hash('sha256', `${this.#key.toString('base64')}${name}`, 'hex'), 'hex').readUInt32BE();
    const like = users[pick % users.length];
    return like && createDecoy(like.password);
  }
}

function toReader({ name, role }: Reader): Reader {
  return { name, role };
}
