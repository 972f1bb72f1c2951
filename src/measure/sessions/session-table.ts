/**
 * The sessions of one application: who is connected, since when, and how. This folder must not know HTTP exchanges:
 * callers say which credentials the server accepted.
 *
 * A session is found by its key, which all its connections share, and by its tokens; all are keyed hashes. A token stands
 * for a credential, cookie or `clientId` that was accepted for it. A login is a login cookie or a session id in the path.
 *
 * A claim makes a session or its name unverified: the server may have accepted its requests for something else. Its key
 * and tokens are hashes of the credential together with its companions, so the credential alone never leads to it. It
 * becomes verified when the server accepts the same credential alone and its user has no other session.
 */

import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { AddressRate } from '../../limits/address-counts.ts';
import type { MetricSet } from '../../metrics/metric-set.ts';
import type { Timer } from '../../metrics/timer.ts';
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';
import { type ClaimEntry, ClaimIndex, type ClaimLimit } from './claim-index.ts';
import { type Claim, isLasting } from './credentials.ts';
import {
  type CountsByType,
  createSessionMetrics,
  Session,
  type SessionEntry,
  type SessionLimits,
  type SessionParts,
  type SessionStart,
} from './session.ts';

/** Tokens kept for one session. Beyond that the oldest is dropped; the server has to accept that credential again. */
export const MAX_TOKENS_PER_SESSION = 8;

export interface SessionTableParts {
  readonly config: Pick<Config['sessions'], 'idleMs' | 'cometGoneMs' | 'max'>;
  readonly clock: Clock;
  readonly created: Timer;
  readonly createStatistics: SessionParts['createStatistics'];
  readonly claimRate: AddressRate;
}

/** `verified`, or the credential whose acceptance would verify the name (undefined: none would). */
export type NameProof = 'verified' | { readonly credentialToken: string | undefined };

interface SessionRow {
  readonly session: Session;
  key: string;
  /** Oldest first. */
  readonly tokens: string[];
  /** Set while the session or its name is unverified. */
  claimEntry: ClaimEntry | undefined;
}

export class SessionTable {
  readonly #clock: Clock;
  readonly created: Timer;
  readonly #sessionParts: SessionParts;
  readonly #metrics: MetricSet;
  /** Oldest session first. */
  readonly #byId = new Map<string, SessionRow>();
  readonly #byKey = new Map<string, SessionRow>();
  readonly #byToken = new Map<string, SessionRow>();
  /** The sessions update it: counting 10,000 sessions for each answer would block the event loop for some ms. */
  readonly #countsByType: CountsByType = { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 };
  /** No session expires before this moment, so most sweeps return at once. */
  #nextEndNs = Number.POSITIVE_INFINITY;
  #limits: SessionLimits;
  #max: number;
  /** Calls that began no session because the table was full (`sessions.max`). */
  untracked = 0;
  readonly #claims = new ClaimIndex();
  readonly #claimRate: AddressRate;
  /** Accepted calls that began no unverified session, by limit. */
  readonly refusedClaims: Record<ClaimLimit, number> = { cookie: 0, address: 0 };

  constructor({ config, clock, created, createStatistics, claimRate }: SessionTableParts) {
    this.#claimRate = claimRate;
    this.#clock = clock;
    this.#limits = readSessionLimits(config);
    this.#max = config.max;
    this.created = created;
    this.#sessionParts = { clock, countsByType: this.#countsByType, createStatistics };
    this.#metrics = createSessionMetrics(created, () => this.size);
  }

  /** Changes the limits, also for existing sessions. Sessions above a lower `max` stay. */
  reconfigure(config: SessionTableParts['config']): void {
    this.#limits = readSessionLimits(config);
    this.#max = config.max;
    // A shorter limit may already have passed.
    this.#nextEndNs = Number.NEGATIVE_INFINITY;
  }

  get size(): number {
    this.sweep();
    return this.#byId.size;
  }

  get hasClaims(): boolean {
    return this.#claims.size > 0;
  }

  /** Those of this moment, oldest first, each with its numbers of when the iterator reaches it, ended or not. */
  entries(): Iterable<SessionEntry> {
    return entriesOf(this.sessions());
  }

  sessions(): readonly Session[] {
    this.sweep();
    return Array.from(this.#byId.values(), ({ session }) => session);
  }

  countsByType(): Readonly<CountsByType> {
    this.sweep();
    return { ...this.#countsByType };
  }

  find(id: string): Session | undefined {
    return this.#live(this.#byId.get(id), this.#clock.nowNs())?.session;
  }

  metrics(): MetricSet {
    return this.#metrics;
  }

  knows(token: string): boolean {
    return this.#byToken.has(token);
  }

  recognise(token: string, nowNs: number): Session | undefined {
    return this.#live(this.#byToken.get(token), nowNs)?.session;
  }

  /** The session of `key`, for which the server has just accepted `token`. From now on the token alone leads to it. */
  join(key: string, token: string, nowNs: number): Session | undefined {
    const row = this.#live(this.#byKey.get(key), nowNs);
    if (row !== undefined) this.#remember(row, token);
    return row?.session;
  }

  /**
   * As `join`, for an accepted `token` alone, which verifies its claims: a session of this credential becomes that of
   * `key` if there is none, and names that the credential states over Comet become verified.
   */
  joinVerified(key: string, token: string, nowNs: number): Session | undefined {
    let present = this.join(key, token, nowNs);
    for (const claimEntry of this.#claims.findByCredential(token)) {
      const row = this.#live(this.#byId.get(claimEntry.session.id), nowNs);
      if (row === undefined) continue;
      if (!claimEntry.isNameOnly && present !== undefined) continue;
      this.#verify(row);
      if (claimEntry.isNameOnly) continue;
      // The unverified session becomes the verified one of `key`. It keeps its id and its numbers.
      this.#byKey.delete(row.key);
      row.key = key;
      this.#byKey.set(key, row);
      this.#remember(row, token);
      present = row.session;
    }
    return present;
  }

  joinClaim(claim: Claim, nowNs: number): Session | undefined {
    const row = this.#live(this.#byKey.get(claim.key), nowNs);
    if (row === undefined) return undefined;
    this.#remember(row, claim.token);
    if (row.claimEntry !== undefined) this.#claims.addCredential(row.claimEntry, claim.credentialToken);
    return row.session;
  }

  /** Begins the unverified session of a claim that has none. Undefined when a limit is reached; that is counted. */
  beginClaim(claim: Claim, start: SessionStart): Session | undefined {
    // In a full table `begin` refuses and counts the call; it must not use up the limits of claims.
    const { key, token, logins, credentialToken } = claim;
    if (this.#hasRoom(start.atNs)) {
      if (!this.#claims.hasRoom(logins)) this.#sweepAt(start.atNs);
      const hasRoom = this.#claims.hasRoom(logins);
      if (!hasRoom || !this.#claimRate.take(start.remoteAddress)) {
        this.refusedClaims[hasRoom ? 'address' : 'cookie'] += 1;
        return undefined;
      }
    }
    const session = this.begin(key, token, { ...start, isVerified: false });
    if (session !== undefined) this.#claim({ session, logins, credentialToken, isNameOnly: false });
    return session;
  }

  /** Sets a name found later, e.g. by a form login. A verified name replaces an unverified one; else the first stays. */
  name(session: Session, userName: string | null, proof: NameProof): void {
    if (userName === null) return;
    session.nameUser(userName, proof === 'verified');
    const row = this.#byId.get(session.id);
    if (row === undefined) return;
    if (session.isVerified) {
      this.#verify(row);
      return;
    }
    const isFirstClaim = row.claimEntry === undefined && session.userName === userName;
    if (isFirstClaim && proof !== 'verified' && proof.credentialToken !== undefined) {
      this.#claim({ session, logins: [], credentialToken: proof.credentialToken, isNameOnly: true });
    }
  }

  /** Begins the session of a `key` that has none. Undefined when the table is full; that is counted as `untracked`. */
  begin(key: string, token: string, start: SessionStart): Session | undefined {
    if (!this.#hasRoom(start.atNs)) {
      this.untracked += 1;
      return undefined;
    }
    const session = new Session(start, this.#sessionParts);
    const row = this.#add(session, key);
    this.#remember(row, token);
    this.#nextEndNs = Math.min(this.#nextEndNs, start.atNs + this.#limits.idleNs);
    if (start.isAdopted !== true) this.created.update(start.creationNs);
    return session;
  }

  /** Adds a token that leads to the session from now on, e.g. of the cookie that replaced its first one. */
  addToken(session: Session, token: string): void {
    const row = this.#byId.get(session.id);
    if (row !== undefined) this.#remember(row, token);
  }

  /** The last connection of a Comet session closed at `atNs`: it ends `goneNs` later. Infinity: it is back. */
  gone(session: Session, atNs: number): void {
    session.goneSinceNs = atNs;
    this.#nextEndNs = Math.min(this.#nextEndNs, atNs + this.#limits.goneNs);
  }

  /** Ends a session; has no effect if it has ended already. */
  end(session: Session): void {
    const row = this.#byId.get(session.id);
    if (row !== undefined) this.#remove(row);
  }

  /** Ends the expired sessions. Reads do this too; sweeping between reads only frees memory. */
  sweep(): void {
    this.#sweepAt(this.#clock.nowNs());
  }

  /** A record for each session, with the fields of `saveMore`, then one of the whole table. Must be run to its end. */
  *save(saveMore: (session: Session) => SavedFields): Generator<SavedFields> {
    for (const { session, key, tokens, claimEntry } of this.#byId.values()) {
      // The key of a claim whose request had a second password is a hash of that password, which must not be saved.
      if (!isLasting(key)) continue;
      const logins = claimEntry?.isNameOnly === false ? claimEntry.logins : undefined;
      const found = { key, tokens: tokens.filter(isLasting), logins };
      yield { record: 'session', ...session.save(), ...found, ...saveMore(session) };
    }
    yield {
      ...{ record: 'sessions', untracked: this.untracked, refusedClaims: this.refusedClaims },
      ...{ created: this.created.count, timer: this.created.save() },
    };
  }

  /** Restores a saved session, even above `sessions.max`; an expired one ends as usual. Call it before any begins. */
  loadSession(saved: SavedRecord): Session {
    const session = Session.load(saved, this.#sessionParts);
    const row = this.#add(session, saved.textOrThrow('key'));
    for (const token of saved.texts('tokens')) this.#remember(row, token);
    if (saved.has('logins'))
      this.#claim({ session, logins: saved.texts('logins'), credentialToken: undefined, isNameOnly: false });
    this.#nextEndNs = Number.NEGATIVE_INFINITY;
    return session;
  }

  load(saved: SavedRecord): void {
    this.untracked = saved.count('untracked');
    saved.record('refusedClaims').countsInto(this.refusedClaims);
    this.created.load(saved.record('timer'), saved.count('created'));
  }

  #add(session: Session, key: string): SessionRow {
    const row = { session, key, tokens: [], claimEntry: undefined };
    this.#byId.set(session.id, row);
    this.#byKey.set(key, row);
    return row;
  }

  #sweepAt(nowNs: number): void {
    if (nowNs < this.#nextEndNs) return;
    // Reset first: listeners of ended sessions may begin sessions or report gone ones.
    this.#nextEndNs = Number.POSITIVE_INFINITY;
    for (const row of this.#byId.values()) {
      if (this.#live(row, nowNs) === undefined) continue;
      // A running call may end at any moment; its session then expires `idleNs` later at the earliest.
      const endNs = Math.min(row.session.endsAtNs(this.#limits), nowNs + this.#limits.idleNs);
      this.#nextEndNs = Math.min(this.#nextEndNs, endNs);
    }
  }

  /** The row; if its session has expired, ends the session and returns undefined. */
  #live(row: SessionRow | undefined, nowNs: number): SessionRow | undefined {
    if (row === undefined || nowNs < row.session.endsAtNs(this.#limits)) return row;
    this.#remove(row);
    return undefined;
  }

  #hasRoom(nowNs: number): boolean {
    if (this.#byId.size >= this.#max) this.#sweepAt(nowNs);
    return this.#byId.size < this.#max;
  }

  #claim(claimEntry: ClaimEntry): void {
    const row = this.#byId.get(claimEntry.session.id);
    if (row === undefined) return;
    row.claimEntry = claimEntry;
    this.#claims.add(claimEntry);
  }

  #verify(row: SessionRow): void {
    row.session.isVerified = true;
    if (row.claimEntry !== undefined) this.#claims.remove(row.claimEntry);
    row.claimEntry = undefined;
  }

  #remember(row: SessionRow, token: string): void {
    if (this.#byToken.has(token)) return;
    this.#byToken.set(token, row);
    row.tokens.push(token);
    if (row.tokens.length <= MAX_TOKENS_PER_SESSION) return;
    const oldest = row.tokens.shift();
    if (oldest !== undefined) this.#byToken.delete(oldest);
  }

  #remove(row: SessionRow): void {
    this.#byId.delete(row.session.id);
    this.#byKey.delete(row.key);
    for (const token of row.tokens) this.#byToken.delete(token);
    if (row.claimEntry !== undefined) this.#claims.remove(row.claimEntry);
    row.session.ended();
  }
}

function* entriesOf(sessions: readonly Session[]): Generator<SessionEntry> {
  for (const session of sessions) yield session.toEntry();
}

function readSessionLimits({ idleMs, cometGoneMs }: SessionTableParts['config']): SessionLimits {
  return { idleNs: idleMs * NS_PER_MS, goneNs: cometGoneMs * NS_PER_MS };
}
