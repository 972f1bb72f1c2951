/**
 * The sessions of one table whose names are unproven. Counts them for each login, and finds those that a credential
 * proves once the server accepts it alone.
 */
import type { Session } from './session.ts';

/** Limit on simultaneous unverified sessions for each login cookie. */
export const MAX_CLAIMS_PER_LOGIN = 8;
/** A request with more logins begins no unverified session. More than any browser keeps for one path. */
const MAX_LOGINS = 8;

/** Unverified sessions that one address may begin in a minute, in all applications together. */
export const CLAIMS_PER_ADDRESS = 32;

/** One unverified session in the index. */
export interface Claimed {
  readonly session: Session;
  /** True for a Comet session: only its name is unverified, since the session itself belongs to its cookie. */
  readonly isNameOnly: boolean;
  /** Keyed hashes of the logins in the request that began it. */
  readonly logins: readonly string[];
  /**
   * Token of the only credential that its calls were accepted with. Undefined after a restart until the next call of
   * the same login and user, since the hash of a password is not saved. Null after a second credential.
   */
  credentialToken: string | undefined | null;
}

export class ClaimIndex {
  readonly #countByLogin = new Map<string, number>();
  readonly #byCredentialToken = new Map<string, Set<Claimed>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  hasRoom(logins: readonly string[]): boolean {
    if (logins.length > MAX_LOGINS) return false;
    return logins.every((login) => (this.#countByLogin.get(login) ?? 0) < MAX_CLAIMS_PER_LOGIN);
  }

  add(claimed: Claimed): void {
    this.#size += 1;
    for (const login of claimed.logins) this.#countByLogin.set(login, (this.#countByLogin.get(login) ?? 0) + 1);
    this.#link(claimed);
  }

  remove(claimed: Claimed): void {
    this.#size -= 1;
    for (const login of claimed.logins) {
      const count = this.#countByLogin.get(login) ?? 0;
      if (count > 1) this.#countByLogin.set(login, count - 1);
      else this.#countByLogin.delete(login);
    }
    this.#unlink(claimed);
  }

  /** A call of this session was accepted with `credentialToken`. */
  cameWith(claimed: Claimed, credentialToken: string): void {
    if (claimed.credentialToken === credentialToken || claimed.credentialToken === null) return;
    this.#unlink(claimed);
    claimed.credentialToken = claimed.credentialToken === undefined ? credentialToken : null;
    this.#link(claimed);
  }

  /** The entries whose only credential is `credentialToken`, oldest first. */
  of(credentialToken: string): readonly Claimed[] {
    const claims = this.#byCredentialToken.get(credentialToken);
    return claims === undefined ? [] : [...claims];
  }

  #link(claimed: Claimed): void {
    const { credentialToken } = claimed;
    if (credentialToken === undefined || credentialToken === null) return;
    const claims = this.#byCredentialToken.get(credentialToken) ?? new Set();
    this.#byCredentialToken.set(credentialToken, claims.add(claimed));
  }

  #unlink(claimed: Claimed): void {
    const { credentialToken } = claimed;
    if (credentialToken === undefined || credentialToken === null) return;
    const claims = this.#byCredentialToken.get(credentialToken);
    if (claims?.delete(claimed) && claims.size === 0) this.#byCredentialToken.delete(credentialToken);
  }
}
