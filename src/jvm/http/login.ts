import { randomBytes } from 'node:crypto';
import { answerChallenge, type DigestChallenge, type DigestRequest, selectChallenge } from './digest.ts';
import { type Credentials, isSame } from './server-credentials.ts';

type LoginRequest = Pick<DigestRequest, 'method' | 'target'>;

/** The credentials were refused, or no challenge can be answered. */
export type LoginRefusal = 'refused' | 'unanswerable';

/** Result of a 401; `retry` means with a new `authorize`. */
type LoginOutcome = 'retry' | LoginRefusal;

/** How a source logs in. Keeps state from one exchange for the next. */
export interface Login {
  /** The value of `Authorization`, or undefined to send none. */
  authorize(request: LoginRequest, credentials: Credentials | undefined): string | undefined;
  challenged(fields: readonly string[], credentials: Credentials | undefined): LoginOutcome;
  accepted?(credentials: Credentials | undefined): void;
}

/** RFC 7617. Sent at once: the address is fixed, and waiting for a challenge would double each reading. */
export const BASIC_LOGIN: Login = {
  authorize: (_request, credentials) =>
    credentials && `Basic ${Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64')}`,
  challenged: () => 'refused',
};

const CNONCE_BYTES = 16;
/** `nc` has eight hexadecimal digits. */
const MAX_NONCE_COUNT = 0xffff_ffff;

/** RFC 7616. Reuses one nonce with a growing count for many readings, so that a reading takes one request. */
export class DigestLogin implements Login {
  #challenge: DigestChallenge | undefined;
  #nonceCount = 0;
  /** The credentials that the server has accepted with this nonce. */
  #provenBy: Credentials | undefined;

  authorize(request: LoginRequest, credentials: Credentials | undefined): string | undefined {
    if (this.#nonceCount === MAX_NONCE_COUNT) this.#forget();
    if (credentials === undefined || this.#challenge === undefined) return undefined;
    this.#nonceCount += 1;
    const cnonce = randomBytes(CNONCE_BYTES).toString('hex');
    return answerChallenge(this.#challenge, credentials, { ...request, nonceCount: this.#nonceCount, cnonce });
  }

  challenged(fields: readonly string[], credentials: Credentials | undefined): LoginOutcome {
    const last = this.#challenge;
    const next = selectChallenge(fields);
    const wasProven = this.#provenBy !== undefined && isSame(this.#provenBy, credentials);
    const wasSent = this.#nonceCount > 0;
    this.#forget();
    this.#challenge = next;
    if (credentials === undefined) return 'refused';
    if (next === undefined) return 'unanswerable';
    // A restarted server does not know its old nonce, and not every server then sends `stale`.
    const mayBeOld = next.isStale || (wasProven && next.nonce !== last?.nonce);
    return !wasSent || mayBeOld ? 'retry' : 'refused';
  }

  accepted(credentials: Credentials | undefined): void {
    this.#provenBy = credentials;
  }

  #forget(): void {
    this.#challenge = undefined;
    this.#nonceCount = 0;
    this.#provenBy = undefined;
  }
}
