/** The claims of one table by login and by credential: unverified sessions, and Comet sessions with an unverified name. */
import { MAX_LOGINS } from './companions.ts';
import type { Session } from './session.ts';

/** Limit on simultaneous unverified sessions for each login cookie. */
export const MAX_CLAIMS_PER_LOGIN = 8;
/** Unverified sessions that one address may begin in a minute, in all applications together. */
export const CLAIMS_PER_ADDRESS = 32;

/** The limit that kept a call from beginning an unverified session; `cookie`: per login. Values of a label. */
export type ClaimLimit = 'cookie' | 'address';

export interface ClaimEntry {
  readonly session: Session;
  /** True for a Comet session: only its name is unverified, since the session itself belongs to its cookie. */
  readonly isNameOnly: boolean;
  readonly logins: readonly string[];
  /** Token of its only credential; null after a second one. Undefined after a restart until the next call: not saved. */
  credentialToken: string | undefined | null;
}

export class ClaimIndex {
  readonly #countByLogin = new Map<string, number>();
  readonly #byCredentialToken = new Map<string, Set<ClaimEntry>>();
  size = 0;

  hasRoom(logins: readonly string[]): boolean {
    if (logins.length > MAX_LOGINS) return false;
    return logins.every((login) => (this.#countByLogin.get(login) ?? 0) < MAX_CLAIMS_PER_LOGIN);
  }

  add(claimEntry: ClaimEntry): void {
    this.size += 1;
    for (const login of claimEntry.logins) this.#countByLogin.set(login, (this.#countByLogin.get(login) ?? 0) + 1);
    this.#link(claimEntry);
  }

  remove(claimEntry: ClaimEntry): void {
    this.size -= 1;
    for (const login of claimEntry.logins) {
      const count = this.#countByLogin.get(login) ?? 0;
      if (count > 1) this.#countByLogin.set(login, count - 1);
      else this.#countByLogin.delete(login);
    }
    this.#unlink(claimEntry);
  }

  /** Call it when a call of this session was accepted with `credentialToken`. */
  addCredential(claimEntry: ClaimEntry, credentialToken: string): void {
    if (claimEntry.credentialToken === credentialToken || claimEntry.credentialToken === null) return;
    this.#unlink(claimEntry);
    claimEntry.credentialToken = claimEntry.credentialToken === undefined ? credentialToken : null;
    this.#link(claimEntry);
  }

  /** The entries whose only credential is `credentialToken`, oldest first. */
  findByCredential(credentialToken: string): readonly ClaimEntry[] {
    return [...(this.#byCredentialToken.get(credentialToken) ?? [])];
  }

  #link(claimEntry: ClaimEntry): void {
    const { credentialToken } = claimEntry;
    if (credentialToken === undefined || credentialToken === null) return;
    const claims = this.#byCredentialToken.get(credentialToken) ?? new Set();
    this.#byCredentialToken.set(credentialToken, claims.add(claimEntry));
  }

  #unlink(claimEntry: ClaimEntry): void {
    const { credentialToken } = claimEntry;
    if (credentialToken === undefined || credentialToken === null) return;
    const claims = this.#byCredentialToken.get(credentialToken);
    if (claims?.delete(claimEntry) && claims.size === 0) this.#byCredentialToken.delete(credentialToken);
  }
}
