import { type Clock, formatIso, NS_PER_MS } from '../../base/clock.ts';
import { randomId } from '../../base/random-id.ts';
import { emptyMetricSet, type MetricSet } from '../../metrics/metric-set.ts';
import type { CountedCall, NameCounts, SessionStatistics } from '../../metrics/statistics.ts';
import { Timer, type TimerReading } from '../../metrics/timer.ts';
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';

export type ConnectionType = 'REST' | 'COMET_WEBSOCKET' | 'COMET_LONG_POLLING';

export type CountsByType = Record<ConnectionType, number>;

export type SessionEntry = Readonly<ReturnType<Session['toEntry']>>;

export interface SessionStart {
  readonly userName: string | null;
  readonly connectionType: ConnectionType;
  /** As from the socket; an IPv4 address in IPv6 form (`::ffff:10.0.0.7`) is shown as IPv4. */
  readonly remoteAddress: string;
  /** Monotonic moment at which the call that began the session ended. */
  readonly atNs: number;
  readonly creationNs: number;
  /** The session existed before the sidecar started: it is shown, but not counted as created. */
  readonly isAdopted?: boolean;
  /** False when the credential or the name is unverified. Default true. */
  readonly isVerified?: boolean;
}

/** `idleNs`: longest time without activity. `goneNs`: longest time without a connection, for Comet sessions. */
export interface SessionLimits {
  readonly idleNs: number;
  readonly goneNs: number;
}

/** What all sessions of a table share. */
export interface SessionParts {
  readonly clock: Clock;
  /** The current sessions; each updates it. */
  readonly countsByType: CountsByType;
  /** Called on first use: most sessions are never shown. */
  createStatistics(): SessionStatistics;
}

/** One session of a user. Only its `SessionTable` begins and ends it, and sets its fields. */
export class Session {
  #statistics: SessionStatistics | undefined;
  #requests = 0;
  #openCalls = 0;
  #lastActivityNs: number;
  /** When its last connection closed. Infinity while one is open, and for sessions without lasting connections. */
  goneSinceNs = Number.POSITIVE_INFINITY;
  /** Random: reveals nothing about the traffic. */
  readonly id: string;
  readonly #start: SessionStart;
  readonly #parts: SessionParts;
  #createdEpochMs: number;
  userName: string | null;
  /** False while the credential or the name is unverified. */
  isVerified: boolean;
  connectionType: ConnectionType;
  #hasEnded = false;
  #onEnded: (() => void) | undefined;

  constructor(start: SessionStart, parts: SessionParts, id: string = randomId()) {
    this.id = id;
    this.#start = start;
    this.#parts = parts;
    this.userName = start.userName;
    this.isVerified = start.isVerified ?? true;
    this.connectionType = start.connectionType;
    parts.countsByType[start.connectionType] += 1;
    this.#createdEpochMs = parts.clock.epochMs();
    this.#lastActivityNs = start.atNs;
  }

  get statistics(): SessionStatistics {
    this.#statistics ??= this.#parts.createStatistics();
    return this.#statistics;
  }

  /** The timer `sessions.created` with this one creation, and the gauge `sessions.active`, 1. */
  metrics(): MetricSet {
    const { atNs, creationNs } = this.#start;
    const created = new Timer({ clock: this.#parts.clock, createdNs: atNs - creationNs });
    created.update(creationNs, atNs);
    return createSessionMetrics(created, () => 1);
  }

  get errors(): number {
    return this.#statistics?.errorCount ?? 0;
  }

  countsOf(call: CountedCall): NameCounts {
    return this.#statistics?.countsOf(call) ?? { count: 0, errors: 0, subscriptions: 0 };
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

  /** Records client activity that is not a call, e.g. a subscription. */
  touch(atNs: number): void {
    // The call that began the session is counted only when it ends, so its beginning is reported late.
    if (atNs > this.#lastActivityNs) this.#lastActivityNs = atNs;
  }

  /** For the `SessionTable` only: see `SessionTable.name`. */
  nameUser(userName: string, isVerified: boolean): void {
    if (this.userName !== null && (this.isVerified || !isVerified)) return;
    this.userName = userName;
    this.isVerified = isVerified;
  }

  /** Sets the current connection type, e.g. after a fallback from WebSocket. */
  connectedOver(connectionType: ConnectionType): void {
    if (!this.#hasEnded) {
      this.#parts.countsByType[this.connectionType] -= 1;
      this.#parts.countsByType[connectionType] += 1;
    }
    this.connectionType = connectionType;
  }

  /** `listener` is called once, however the session ends. A second listener replaces the first. */
  whenEnded(listener: () => void): void {
    this.#onEnded = listener;
  }

  ended(): void {
    if (!this.#hasEnded) this.#parts.countsByType[this.connectionType] -= 1;
    this.#hasEnded = true;
    const onEnded = this.#onEnded;
    this.#onEnded = undefined;
    onEnded?.();
  }

  static load(saved: SavedRecord, parts: SessionParts): Session {
    const start = {
      userName: saved.text('userName') ?? null,
      isVerified: saved.flag('isVerified'),
      connectionType:
        CONNECTION_TYPES.find((type) => type === saved.text('connectionType')) ??
        saved.refuse('its values', 'connectionType'),
      remoteAddress: saved.text('remoteAddress') ?? '',
      atNs: saved.moment('atNs'),
      creationNs: saved.number('creationNs'),
    };
    const session = new Session(start, parts, saved.textOrThrow('id'));
    session.#createdEpochMs = saved.number('createdEpochMs');
    if (Math.abs(session.#createdEpochMs) > MAX_DATE_MS) saved.refuse('a time', 'createdEpochMs');
    session.#requests = saved.count('requests');
    session.#lastActivityNs = saved.moment('lastActivityNs');
    session.goneSinceNs = saved.momentIfAny('goneSinceNs');
    for (const record of saved.records('statistics')) session.statistics.load(record);
    return session;
  }

  /** For the `SessionTable` only. Synchronous, so the numbers are of one moment. */
  save(): SavedFields {
    return {
      id: this.id,
      userName: this.userName,
      isVerified: this.isVerified,
      connectionType: this.connectionType,
      remoteAddress: this.#start.remoteAddress,
      atNs: this.#start.atNs,
      creationNs: this.#start.creationNs,
      createdEpochMs: this.#createdEpochMs,
      requests: this.#requests,
      // Running calls do not survive a restart, but they count as activity until now.
      lastActivityNs: this.#openCalls > 0 ? this.#parts.clock.nowNs() : this.#lastActivityNs,
      goneSinceNs: this.goneSinceNs,
      statistics: this.#statistics && [...this.#statistics.save()],
    };
  }

  /** While a call is running, it is not idle: a user may wait for an hour-long download. */
  endsAtNs({ idleNs, goneNs }: SessionLimits): number {
    const idleSinceNs = this.#openCalls > 0 ? Number.POSITIVE_INFINITY : this.#lastActivityNs;
    return Math.min(idleSinceNs + idleNs, this.goneSinceNs + goneNs);
  }

  /** One element of the session list. Times are ISO 8601 in UTC with milliseconds, e.g. `2026-03-01T08:00:00.000Z`. */
  toEntry() {
    const { clock } = this.#parts;
    // Derived from the current wall clock, so that no call has to read it.
    const activeMs = Math.round(clock.epochMs() - (clock.nowNs() - this.#lastActivityNs) / NS_PER_MS);
    return {
      id: this.id,
      createTime: formatIso(this.#createdEpochMs),
      /** Null when the traffic does not contain it. */
      userName: this.userName,
      connectionType: this.connectionType,
      lastActivityTime: formatIso(Math.max(this.#createdEpochMs, activeMs)),
      /** E.g. `10.0.0.7` or `2001:db8::7`: the client address of the request that began the session. */
      remoteAddress: this.#start.remoteAddress,
      /** Ended calls of any kind, including the one that began the session. */
      requests: this.#requests,
      // Present only when the credential or the name is unverified.
      ...(this.isVerified ? undefined : UNVERIFIED),
    };
  }
}

/** The timer `sessions.created` and the gauge `sessions.active`, of a table and of one session. */
export function createSessionMetrics(created: TimerReading, readActive: () => number): MetricSet {
  return {
    ...emptyMetricSet,
    gauges: new Map([['sessions.active', { type: 'integer', read: readActive }]]),
    timers: new Map([['sessions.created', created]]),
  };
}

const UNVERIFIED = { verified: false } as const;

const CONNECTION_TYPES: readonly ConnectionType[] = ['REST', 'COMET_WEBSOCKET', 'COMET_LONG_POLLING'];

/** ECMAScript: 100 million days around 1970. */
const MAX_DATE_MS = 8.64e15;
