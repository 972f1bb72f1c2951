import { randomUUID } from 'node:crypto';
import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { MetricSet } from '../../metrics/metric-set.ts';
import type { Statistics } from '../../metrics/statistics.ts';
import type { ArchiveReader } from '../../state/archive/archive-reader.ts';
import type { ArchiveWriter } from '../../state/archive/archive-writer.ts';

export type ConnectionType = 'REST' | 'COMET_WEBSOCKET' | 'COMET_LONG_POLLING';

/** Sessions now by what their clients connect with. */
export type CountsByType = Record<ConnectionType, number>;

/** One element of the session list. Times are ISO 8601 in UTC with milliseconds, e.g. `2026-03-01T08:00:00.000Z`. */
export interface SessionEntry {
  readonly id: string;
  readonly createTime: string;
  /** Null where the wire does not tell it. */
  readonly userName: string | null;
  readonly connectionType: ConnectionType;
  readonly lastActivityTime: string;
  /** E.g. `10.0.0.7` or `2001:db8::7`: where the request that began the session came from. */
  readonly remoteAddress: string;
  /** Calls of any kind that have ended, the one that began the session included. */
  readonly requests: number;
  /** Only there where nothing has proven the credential, or the name, that its client states. */
  readonly verified?: false;
}

/** How a session came to be. */
export interface SessionOrigin {
  readonly userName: string | null;
  readonly connectionType: ConnectionType;
  /** As the socket tells it; an IPv4 address in IPv6 form (`::ffff:10.0.0.7`) is shown as IPv4. */
  readonly remoteAddress: string;
  /** Monotonic moment at which the call that began it ended. */
  readonly atNs: number;
  /** Duration of that call. */
  readonly creationNs: number;
  /** The session was there before the sidecar: shown, but not counted as created. */
  readonly isAdopted?: boolean;
  /** False where nothing has proven the credential or the name. Default true. */
  readonly isVerified?: boolean;
}

/** How long a session may be idle, and how long without any connection of a kind that is kept. */
export interface SessionLimits {
  readonly idleNs: number;
  readonly goneNs: number;
}

/** The statistics of a session and of its one creation; both are made when they are first needed. */
export interface SessionMetrics {
  createStatistics(): Statistics;
  createMetrics(atNs: number, creationNs: number): MetricSet;
}

/** One session of a user. Begun and ended by its `SessionTable` only. */
export class Session {
  // What every call touches is declared first: V8 lays fields out in this order, behind what it knows the object by.
  #statistics: Statistics | undefined;
  #requests = 0;
  #openCalls = 0;
  /** A double from the start: declared without a value it would be undefined first, and each call would allocate a number. */
  #lastActivityNs = Number.NaN;
  /** Since when its last connection is gone; infinity while there is one, and for sessions that keep none. */
  #goneSinceNs = Number.POSITIVE_INFINITY;
  /** Random and opaque: cannot be turned back into anything that was on the wire. */
  readonly id: string;
  readonly #clock: Clock;
  readonly #origin: SessionOrigin;
  readonly #sources: SessionMetrics;
  #createdEpochMs: number;
  /** Statistics of before a restart, until somebody needs them: 10,000 sessions would take a second at the start. */
  #unread: ArchiveReader | undefined;
  /** What is monitored since before the restart. */
  #resubscribed: string[] | undefined;
  #metrics: MetricSet | undefined;
  #userName: string | null;
  #isVerified: boolean;
  #connectionType: ConnectionType;
  /** Of all sessions of its table; undefined when it has ended. */
  #countsByType: CountsByType | undefined;
  #onEnded: (() => void) | undefined;

  /** Counts itself in `countsByType` until it ends. */
  constructor(
    origin: SessionOrigin,
    sources: SessionMetrics,
    clock: Clock,
    countsByType: CountsByType,
    id: string = newId(),
  ) {
    this.id = id;
    this.#origin = { ...origin, remoteAddress: origin.remoteAddress.replace(MAPPED_IPV4, '') };
    this.#userName = origin.userName;
    this.#isVerified = origin.isVerified ?? true;
    this.#connectionType = origin.connectionType;
    this.#countsByType = countsByType;
    countsByType[origin.connectionType] += 1;
    this.#sources = sources;
    this.#clock = clock;
    this.#createdEpochMs = clock.epochMs();
    this.#lastActivityNs = origin.atNs;
  }

  get statistics(): Statistics {
    this.#statistics ??= this.#createStatistics();
    return this.#statistics;
  }

  /** The timer `sessions.created` with this one creation and the gauge `sessions.active`, 1. */
  metrics(): MetricSet {
    this.#metrics ??= this.#sources.createMetrics(this.#origin.atNs, this.#origin.creationNs);
    return this.#metrics;
  }

  get userName(): string | null {
    return this.#userName;
  }

  /** False while nothing has proven the credential or the name that its client states. */
  get isVerified(): boolean {
    return this.#isVerified;
  }

  /** Calls of it that failed. After a restart this reads what was saved of the session, which takes 0.1 ms. */
  get errors(): number {
    const hasStatistics = (this.#statistics ?? this.#unread) !== undefined;
    return hasStatistics ? this.statistics.errorCount : 0;
  }

  get connectionType(): ConnectionType {
    return this.#connectionType;
  }

  callBegan(atNs: number): void {
    this.#openCalls += 1;
    this.touch(atNs);
  }

  callEnded(atNs: number): void {
    this.#openCalls -= 1;
    this.#requests += 1;
    this.touch(atNs);
  }

  /** The client did something that is no call, e.g. subscribed. */
  touch(atNs: number): void {
    // The call that began the session is counted when it has ended, so its beginning comes late.
    if (atNs > this.#lastActivityNs) this.#lastActivityNs = atNs;
  }

  /** For the `SessionTable` only: the name became known after the session had begun. A proven name replaces a claimed one; else the first stays. */
  nameUser(userName: string, isProven: boolean): void {
    if (this.#userName !== null && (this.#isVerified || !isProven)) return;
    this.#userName = userName;
    this.#isVerified = isProven;
  }

  /** For the `SessionTable` only: what its client states has been proven. */
  verify(): void {
    this.#isVerified = true;
  }

  /** What its client connects with now, e.g. after a fall back from WebSocket. */
  connectedOver(connectionType: ConnectionType): void {
    if (this.#countsByType !== undefined) {
      this.#countsByType[this.#connectionType] -= 1;
      this.#countsByType[connectionType] += 1;
    }
    this.#connectionType = connectionType;
  }

  /** `listener` is called once, when the session has ended, however. There is one; a later one takes its place. */
  whenEnded(listener: () => void): void {
    this.#onEnded = listener;
  }

  /** For the `SessionTable` only. */
  ended(): void {
    if (this.#countsByType !== undefined) this.#countsByType[this.#connectionType] -= 1;
    this.#countsByType = undefined;
    const onEnded = this.#onEnded;
    this.#onEnded = undefined;
    onEnded?.();
  }

  /** For the `SessionTable` only: the session as it was saved. */
  static load(input: ArchiveReader, sources: SessionMetrics, clock: Clock, countsByType: CountsByType): Session {
    const id = input.text();
    const userName = input.flag() ? input.text() : null;
    const isVerified = input.flag();
    const connectionType = CONNECTION_TYPES[input.count()] ?? input.refuse('a connection type');
    const remoteAddress = input.name();
    const shown = { userName, isVerified, connectionType, remoteAddress };
    const origin = { ...shown, atNs: input.moment(), creationNs: input.double() };
    const session = new Session(origin, sources, clock, countsByType, id);
    session.#createdEpochMs = toDateMs(input.double()) ?? input.refuse('a time');
    session.#requests = input.count();
    session.#lastActivityNs = input.moment();
    session.#goneSinceNs = input.momentIfAny();
    if (input.flag()) session.#unread = input.part();
    return session;
  }

  /** For the `SessionTable` only. All at one moment. */
  save(out: ArchiveWriter): void {
    out.text(this.id);
    out.flag(this.#userName !== null);
    if (this.#userName !== null) out.text(this.#userName);
    out.flag(this.#isVerified);
    out.count(CONNECTION_TYPES.indexOf(this.#connectionType));
    out.name(this.#origin.remoteAddress);
    out.moment(this.#origin.atNs);
    out.double(this.#origin.creationNs);
    out.double(this.#createdEpochMs);
    out.count(this.#requests);
    // Calls that are running do not survive; up to now the user was there.
    out.moment(this.#openCalls > 0 ? this.#clock.nowNs() : this.#lastActivityNs);
    out.momentIfAny(this.#goneSinceNs);
    const hasStatistics = (this.#statistics ?? this.#unread) !== undefined;
    out.flag(hasStatistics);
    if (hasStatistics) out.part((part) => void Array.from(this.statistics.save(part)));
  }

  /** A monitoring of before a restart goes on. */
  resubscribe(name: string): void {
    if (this.#statistics !== undefined) {
      this.#statistics.object.resubscribe(name);
      return;
    }
    this.#resubscribed ??= [];
    this.#resubscribed.push(name);
  }

  #createStatistics(): Statistics {
    const statistics = this.#sources.createStatistics();
    const [unread, resubscribed] = [this.#unread, this.#resubscribed];
    this.#unread = undefined;
    this.#resubscribed = undefined;
    if (unread !== undefined) statistics.load(unread);
    for (const name of resubscribed ?? []) statistics.object.resubscribe(name);
    return statistics;
  }

  /** For the `SessionTable` only: `undefined` says that there is a connection again. */
  goneSince(atNs: number | undefined): void {
    this.#goneSinceNs = atNs ?? Number.POSITIVE_INFINITY;
  }

  /** The monotonic moment at which the session ends unless something happens before. */
  endsAtNs({ idleNs, goneNs }: SessionLimits): number {
    return Math.min(this.idleSinceNs() + idleNs, this.#goneSinceNs + goneNs);
  }

  /**
   * The monotonic moment from which the session is idle. Infinity while a call is running: a user who waits for a download
   * of an hour has not left.
   */
  idleSinceNs(): number {
    return this.#openCalls > 0 ? Number.POSITIVE_INFINITY : this.#lastActivityNs;
  }

  toEntry(): SessionEntry {
    return {
      id: this.id,
      createTime: new Date(this.#createdEpochMs).toISOString(),
      userName: this.#userName,
      connectionType: this.#connectionType,
      lastActivityTime: new Date(this.#lastActivityEpochMs()).toISOString(),
      remoteAddress: this.#origin.remoteAddress,
      requests: this.#requests,
      ...(this.#isVerified ? undefined : UNVERIFIED),
    };
  }

  /** By the wall clock as it is now: a label for people, which no call has to pay for. */
  #lastActivityEpochMs(): number {
    const agoMs = (this.#clock.nowNs() - this.#lastActivityNs) / NS_PER_MS;
    return Math.max(this.#createdEpochMs, Math.round(this.#clock.epochMs() - agoMs));
  }
}

/** In one piece: `randomUUID` joins twenty, which V8 keeps as a tree of a dozen objects and more. */
function newId(): string {
  return Buffer.from(randomUUID(), 'latin1').toString('latin1');
}

const UNVERIFIED = { verified: false } as const;

/** By their numbers in the state file. */
const CONNECTION_TYPES: readonly ConnectionType[] = ['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'];

/** `epochMs` where a `Date` can say it. */
function toDateMs(epochMs: number): number | undefined {
  return Math.abs(epochMs) <= MAX_DATE_MS ? epochMs : undefined;
}

/** ECMAScript: 100 million days around 1970. */
const MAX_DATE_MS = 8.64e15;

const MAPPED_IPV4 = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;
