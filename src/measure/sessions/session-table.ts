/**
 * Who is connected to one application, since when, over what. Knows no HTTP: callers say which credentials were accepted.
 *
 * A session is found by its key (what all its connections share, e.g. the user) and by its tokens (what it was recognised by
 * before, e.g. a credential that was accepted). Both are keyed hashes. Every kind of connection, also those that bring
 * cookies or client ids, fits into the two.
 *
 * A session whose credential may not be what the server accepted (a `Claim`) is unverified. It has a key and tokens of its own,
 * made of the credential and of what came beside it, so the credential alone never leads to it. It becomes verified when
 * the same credential is proven and its user has no other session.
 */

import type { Clock } from '../../base/clock.ts';
import { NS_PER_MS } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { AddressRate } from '../../limits/address-rate.ts';
import type { MetricSet } from '../../metrics/metric-set.ts';
import type { Timer, TimerReading } from '../../metrics/timer.ts';
import type { ArchiveReader } from '../../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../../state/archive/archive-writer.ts';
import { type Claimed, ClaimIndex } from './claim-index.ts';
import { type Claim, isLasting } from './credentials.ts';
import type { KnownToken, SessionLead } from './known-token.ts';
import {
  type CountsByType,
  Session,
  type SessionEntry,
  type SessionLimits,
  type SessionMetrics,
  type SessionOrigin,
} from './session.ts';
import { loadRow, type Row, saveRow } from './session-row.ts';

/** Tokens by which one session is recognised; past that the oldest is forgotten, and has to be accepted again. */
export const MAX_TOKENS_PER_SESSION = 8;

export interface SessionTableParts {
  readonly config: Pick<Config['sessions'], 'idleMs' | 'cometGoneMs' | 'max'>;
  readonly clock: Clock;
  /** What `sessions.created` is counted with. */
  readonly created: Timer;
  readonly sessionMetrics: SessionMetrics;
  /** Unverified sessions that begin, by address. */
  readonly claimRate: AddressRate;
}

/** Which bound has kept a call from beginning an unverified session. */
export type ClaimLimit = 'cookie' | 'address';

/** What a name is worth: `proven`, or stated by the credential of that token (undefined: by nothing that could be proven). */
export type NameProof = 'proven' | { readonly credential: string | undefined };

export class SessionTable {
  readonly #clock: Clock;
  readonly #created: Timer;
  readonly #sessionMetrics: SessionMetrics;
  readonly #metrics: MetricSet;
  /** In the order of their beginning. */
  readonly #byId = new Map<string, Row>();
  readonly #byKey = new Map<string, Row>();
  readonly #byToken = new Map<string, Row>();
  /** Kept by the sessions: looking at 10,000 of them for each answer would hold the event loop for some ms. */
  readonly #countsByType: CountsByType = { REST: 0, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 };
  /** No session ends by itself before this moment, so that most sweeps need not look at all. */
  #nextEndNs = Number.POSITIVE_INFINITY;
  #limits: SessionLimits;
  #max: number;
  #untracked = 0;
  readonly #claims = new ClaimIndex();
  readonly #claimRate: AddressRate;
  readonly #refusedClaims: Record<ClaimLimit, number> = { cookie: 0, address: 0 };

  constructor({ config, clock, created, sessionMetrics, claimRate }: SessionTableParts) {
    this.#claimRate = claimRate;
    this.#clock = clock;
    this.#limits = toLimits(config);
    this.#max = config.max;
    this.#created = created;
    this.#sessionMetrics = sessionMetrics;
    this.#metrics = {
      gauges: new Map([['sessions.active', { type: 'integer', read: () => this.size }]]),
      counters: new Map(),
      meters: new Map(),
      timers: new Map([['sessions.created', created]]),
    };
  }

  /** Other times and another number from now on, for the sessions that there are as well; more than `max` of them stay. */
  reconfigure(config: SessionTableParts['config']): void {
    this.#limits = toLimits(config);
    this.#max = config.max;
    // A time that has become shorter may be over already.
    this.#nextEndNs = Number.NEGATIVE_INFINITY;
  }

  /** Sessions now. */
  get size(): number {
    this.sweep();
    return this.#byId.size;
  }

  /** Calls that would have begun a session when there were `sessions.max` already. */
  get untracked(): number {
    return this.#untracked;
  }

  /** Whether there is any unverified session. */
  get hasClaims(): boolean {
    return this.#claims.size > 0;
  }

  /** Accepted calls that began no unverified session, by the bound that kept them from it. */
  get refusedClaims(): Readonly<Record<ClaimLimit, number>> {
    return this.#refusedClaims;
  }

  /** Oldest first, all at once. */
  list(): SessionEntry[] {
    return [...this.entries()];
  }

  /**
   * The sessions of this moment, oldest first. Each is read when it is taken, with all that has happened until then; one that
   * has ended meanwhile stays in it.
   */
  entries(): Iterable<SessionEntry> {
    this.sweep();
    return entriesOf([...this.#byId.values()]);
  }

  /** As `entries`, the sessions themselves. */
  sessions(): readonly Session[] {
    this.sweep();
    return Array.from(this.#byId.values(), ({ session }) => session);
  }

  /** Sessions now by what their clients connect with; all three are there. */
  countsByType(): Readonly<CountsByType> {
    this.sweep();
    return { ...this.#countsByType };
  }

  /** Sessions begun, with the durations of the calls that began them. */
  get created(): TimerReading {
    return this.#created;
  }

  find(id: string): Session | undefined {
    return this.#live(this.#byId.get(id), this.#clock.nowNs())?.session;
  }

  /** The timer `sessions.created` and the gauge `sessions.active`. */
  metrics(): MetricSet {
    return this.#metrics;
  }

  /** The session that brought `token` before. */
  recognise(token: string, nowNs: number): Session | undefined {
    return this.#live(this.#byToken.get(token), nowNs)?.session;
  }

  /** As `recognise`, and has `known` remember where it leads. */
  recogniseKnown(known: KnownToken, nowNs: number): Session | undefined {
    const { lead } = known;
    if (lead?.session !== undefined && lead.forgotten === known.forgotten && lead.table === this) {
      if (nowNs < lead.session.endsAtNs(this.#limits)) return lead.session;
    }
    const row = this.#byToken.get(known.token);
    known.lead = row?.lead;
    known.forgotten = row?.lead.forgotten ?? 0;
    return this.#live(row, nowNs)?.session;
  }

  /** The session of `key`, for which `token` was accepted just now: from here on that token alone tells it. */
  join(key: string, token: string, nowNs: number): Session | undefined {
    const row = this.#live(this.#byKey.get(key), nowNs);
    if (row !== undefined) this.#remember(row, token);
    return row?.session;
  }

  /**
   * The session of `key`, for which `token` was accepted alone just now. An unverified one of that credential becomes it where
   * there is none; names that this credential states over Comet are verified.
   */
  prove(key: string, token: string, nowNs: number): Session | undefined {
    let present = this.join(key, token, nowNs);
    for (const claimed of this.#claims.of(token)) {
      const row = this.#live(this.#byId.get(claimed.session.id), nowNs);
      if (row === undefined) continue;
      if (claimed.isNameOnly) this.#verify(row);
      else present ??= this.#promote(row, key, token);
    }
    return present;
  }

  /** The unverified session of a claim that the server has accepted; undefined where there is none. */
  joinClaim(claim: Claim, nowNs: number): Session | undefined {
    const row = this.#live(this.#byKey.get(claim.key), nowNs);
    if (row === undefined) return undefined;
    this.#remember(row, claim.token);
    if (row.claimed !== undefined) this.#claims.cameWith(row.claimed, claim.credential);
    return row.session;
  }

  /** Begins the unverified session of a claim, which has none; undefined, and counted, beyond a bound. */
  beginClaim(claim: Claim, origin: SessionOrigin): Session | undefined {
    const limit = this.#hasRoom(origin.atNs) ? this.#limitOf(claim, origin) : undefined;
    if (limit !== undefined) {
      this.#refusedClaims[limit] += 1;
      return undefined;
    }
    const { key, token, logins, credential } = claim;
    const session = this.begin(key, token, { ...origin, isVerified: false });
    if (session !== undefined) this.#claim({ session, logins, credential, isNameOnly: false });
    return session;
  }

  /** The name of a session became known, e.g. by a form login on its cookie. A proven name replaces a claimed one; else the first stays. */
  name(session: Session, userName: string | null, proof: NameProof): void {
    if (userName === null) return;
    session.nameUser(userName, proof === 'proven');
    const row = this.#byId.get(session.id);
    if (row === undefined) return;
    if (session.isVerified) {
      this.#verify(row);
      return;
    }
    const isItsOnlyClaim = row.claimed === undefined && session.userName === userName;
    if (isItsOnlyClaim && proof !== 'proven' && proof.credential !== undefined) {
      this.#claim({ session, logins: [], credential: proof.credential, isNameOnly: true });
    }
  }

  /** Begins the session of `key`, which has none; undefined, and counted as `untracked`, when the table is full. */
  begin(key: string, token: string, origin: SessionOrigin): Session | undefined {
    if (!this.#hasRoom(origin.atNs)) {
      this.#untracked += 1;
      return undefined;
    }
    const session = new Session(origin, this.#sessionMetrics, this.#clock, this.#countsByType);
    const row: Row = { session, lead: this.#leadTo(session), key, tokens: [], claimed: undefined };
    this.#byId.set(session.id, row);
    this.#byKey.set(key, row);
    this.#remember(row, token);
    this.#nextEndNs = Math.min(this.#nextEndNs, origin.atNs + this.#limits.idleNs);
    if (origin.isAdopted !== true) this.#created.update(origin.creationNs);
    return session;
  }

  /** A further token by which a session is recognised from now on, e.g. of the cookie that replaced its first one. */
  addToken(session: Session, token: string): void {
    const row = this.#byId.get(session.id);
    if (row !== undefined) this.#remember(row, token);
  }

  /** The last connection of a session that keeps connections has gone: it ends unless one is back in time. */
  gone(session: Session, atNs: number): void {
    session.goneSince(atNs);
    this.#nextEndNs = Math.min(this.#nextEndNs, atNs + this.#limits.goneNs);
  }

  /** The session has a connection again. */
  back(session: Session): void {
    session.goneSince(undefined);
  }

  /** Ends a session; without effect when it has ended already. */
  end(session: Session): void {
    const row = this.#byId.get(session.id);
    if (row !== undefined) this.#remove(row);
  }

  /** Ends the sessions that are idle or gone. Reads do so by themselves; in between it only gives memory back. */
  sweep(): void {
    this.#sweepAt(this.#clock.nowNs());
  }

  /** Writes all sessions, with a pause after each; `saveMore` writes what others know of it. To be consumed to its end. */
  *save(out: ArchiveWriter, saveMore: (session: Session) => void): Generator<void> {
    for (const count of [this.#untracked, this.#refusedClaims.cookie, this.#refusedClaims.address]) out.count(count);
    for (const row of this.#byId.values()) {
      // Of a claim beside a second password.
      if (!isLasting(row.key)) continue;
      out.flag(true);
      row.session.save(out);
      saveRow(out, row);
      saveMore(row.session);
      yield;
    }
    out.flag(false);
    out.count(this.#created.count);
    this.#created.save(out);
  }

  /**
   * Takes up the sessions that were saved, as many as there are. Those that have been idle or gone for too long since then
   * end as they always do. Only before anything has begun.
   */
  load(input: ArchiveReader, loadMore: (session: Session) => void): void {
    this.#untracked = input.count();
    this.#refusedClaims.cookie = input.count();
    this.#refusedClaims.address = input.count();
    while (input.flag()) {
      const session = Session.load(input, this.#sessionMetrics, this.#clock, this.#countsByType);
      const { key, tokens, logins } = loadRow(input);
      const row: Row = { session, lead: this.#leadTo(session), key, tokens: [], claimed: undefined };
      this.#byId.set(session.id, row);
      this.#byKey.set(key, row);
      for (const token of tokens) this.#remember(row, token);
      if (logins !== undefined) this.#claim({ session, logins, credential: undefined, isNameOnly: false });
      loadMore(session);
    }
    this.#created.load(input, input.count());
    this.#nextEndNs = Number.NEGATIVE_INFINITY;
  }

  #sweepAt(nowNs: number): void {
    if (nowNs < this.#nextEndNs) return;
    // What is begun or gone while the ended ones are told of it counts, too.
    this.#nextEndNs = Number.POSITIVE_INFINITY;
    for (const row of this.#byId.values()) {
      if (this.#live(row, nowNs) === undefined) continue;
      // A running call may end at any moment, but its session is idle for long enough only that long after now.
      const endNs = Math.min(row.session.endsAtNs(this.#limits), nowNs + this.#limits.idleNs);
      this.#nextEndNs = Math.min(this.#nextEndNs, endNs);
    }
  }

  /** The row, unless its session has been idle or gone for too long: that ends it, whoever notices first. */
  #live(row: Row | undefined, nowNs: number): Row | undefined {
    if (row === undefined || nowNs < row.session.endsAtNs(this.#limits)) return row;
    this.#remove(row);
    return undefined;
  }

  /** Ends what is over first, if that is needed. */
  #hasRoom(nowNs: number): boolean {
    if (this.#byId.size >= this.#max) this.#sweepAt(nowNs);
    return this.#byId.size < this.#max;
  }

  /** The bound that keeps a claim from having a session of its own. */
  #limitOf({ logins }: Claim, { remoteAddress, atNs }: SessionOrigin): ClaimLimit | undefined {
    if (!this.#claims.hasRoom(logins)) this.#sweepAt(atNs);
    if (!this.#claims.hasRoom(logins)) return 'cookie';
    return this.#claimRate.take(remoteAddress) ? undefined : 'address';
  }

  #claim(claimed: Claimed): void {
    const row = this.#byId.get(claimed.session.id);
    if (row === undefined) return;
    row.claimed = claimed;
    this.#claims.add(claimed);
  }

  /** Makes an unverified session the one of `key`; it keeps its id and its numbers. */
  #promote(row: Row, key: string, token: string): Session {
    this.#verify(row);
    this.#byKey.delete(row.key);
    row.key = key;
    this.#byKey.set(key, row);
    this.#remember(row, token);
    return row.session;
  }

  #verify(row: Row): void {
    row.session.verify();
    if (row.claimed !== undefined) this.#claims.remove(row.claimed);
    row.claimed = undefined;
  }

  #leadTo(session: Session): SessionLead {
    return { table: this, session, forgotten: 0 };
  }

  #remember(row: Row, token: string): void {
    if (this.#byToken.has(token)) return;
    this.#byToken.set(token, row);
    row.tokens.push(token);
    if (row.tokens.length <= MAX_TOKENS_PER_SESSION) return;
    const oldest = row.tokens.shift();
    if (oldest === undefined) return;
    this.#byToken.delete(oldest);
    row.lead.forgotten += 1;
  }

  #remove(row: Row): void {
    this.#byId.delete(row.session.id);
    this.#byKey.delete(row.key);
    row.lead.session = undefined;
    for (const token of row.tokens) this.#byToken.delete(token);
    if (row.claimed !== undefined) this.#claims.remove(row.claimed);
    row.session.ended();
  }
}

function* entriesOf(rows: readonly Row[]): Generator<SessionEntry> {
  for (const { session } of rows) yield session.toEntry();
}

function toLimits({ idleMs, cometGoneMs }: SessionTableParts['config']): SessionLimits {
  return { idleNs: idleMs * NS_PER_MS, goneNs: cometGoneMs * NS_PER_MS };
}
