import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { type Member, Roster } from '../../base/roster.ts';
import type { CallStatistics } from '../../metrics/call-statistics.ts';
import { MAX_NAME_CHARS } from '../../metrics/name-table.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { ConnectionType, Session } from '../sessions/session.ts';
import { toEpochMs } from './call-observer.ts';

export interface RunningCall extends Member {
  readonly call: { readonly kind: CallKind; readonly name: string };
  /** Undefined until the server has accepted its credential. */
  readonly session: Pick<Session, 'id' | 'userName'> | undefined;
  readonly connectionType: ConnectionType;
  readonly remoteAddress: string;
  readonly beganNs: number;
  /** Nanoseconds in which nothing but the client has held it up; no part of its age. */
  clientWaitAt(nowNs: number): number;
  /** The file of the thread dump that was taken while it ran, if one was. */
  threadDump: string | undefined;
}

/** A call as the monitoring port shows it. Times are ISO 8601, `duration` is in seconds. */
export interface CallEntry {
  readonly kind: CallKind;
  readonly name: string;
  readonly sessionId: string | null;
  readonly userName: string | null;
  readonly connectionType: ConnectionType;
  readonly remoteAddress: string;
  readonly startTime: string;
  readonly duration: number;
  /** File name of the thread dump that was taken while it ran; absent without one. */
  readonly threadDump?: string;
}

/** The running calls of one name. Ages are in seconds. */
export interface RunningName {
  readonly kind: CallKind;
  readonly name: string;
  readonly count: number;
  readonly youngest: number;
  readonly oldest: number;
}

export class RunningCalls extends Roster<RunningCall> {
  readonly #clock: Clock;

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }

  byName(): Iterable<RunningName> {
    const nowNs = this.#clock.nowNs();
    const found = new Map<string, { -readonly [K in keyof RunningName]: RunningName[K] }>();
    for (const running of this) {
      const { kind, name } = running.call;
      const key = `${kind} ${name}`;
      const age = ageOf(running, nowNs) / NS_PER_S;
      const known = found.get(key);
      if (known === undefined) found.set(key, { kind, name, count: 1, youngest: age, oldest: age });
      else {
        known.count += 1;
        known.youngest = Math.min(known.youngest, age);
        known.oldest = Math.max(known.oldest, age);
      }
    }
    return found.values();
  }

  /** Attaches the thread dump to the calls that have run for at least `ageNs`. */
  dumped(fileName: string, ageNs: number): void {
    const nowNs = this.#clock.nowNs();
    for (const running of this) {
      if (ageOf(running, nowNs) >= ageNs) running.threadDump = fileName;
    }
  }

  /** The oldest `max` of the calls that `isWanted` accepts, oldest first. */
  oldest(max: number, isWanted: (call: RunningCall) => boolean = () => true): readonly CallEntry[] {
    const calls = [...this].filter(isWanted).sort((a, b) => a.beganNs - b.beganNs);
    const nowNs = this.#clock.nowNs();
    return calls.slice(0, max).map((call) => describeCall(call, call.session, ageOf(call, nowNs), this.#clock));
  }
}

function ageOf(call: Pick<RunningCall, 'beganNs' | 'clientWaitAt'>, nowNs: number): number {
  return Math.max(0, nowNs - call.beganNs - call.clientWaitAt(nowNs));
}

export function describeCall(
  { call, connectionType, remoteAddress, beganNs, threadDump }: Omit<RunningCall, 'session' | 'clientWaitAt' | 'place'>,
  session: RunningCall['session'],
  durationNs: number,
  clock: Clock,
): CallEntry {
  return {
    kind: call.kind,
    // A client may send a name of 64 KiB, and the list has 1,000 calls.
    name: call.name.length <= MAX_NAME_CHARS ? call.name : `${call.name.slice(0, MAX_NAME_CHARS - 1)}…`,
    ...{ sessionId: session?.id ?? null, userName: session?.userName ?? null },
    ...{ connectionType, remoteAddress },
    startTime: new Date(toEpochMs(clock, beganNs)).toISOString(),
    duration: durationNs / NS_PER_S,
    ...(threadDump === undefined ? {} : { threadDump }),
  };
}

/** A name whose running calls all hang. Ages are in seconds. */
export interface HungName extends RunningName {
  /** Of all answered calls of this name, rounded up to a bucket of `d2_call_duration_seconds`; null without any. */
  readonly p99: number | null;
}

interface Calls {
  readonly running: Pick<RunningCalls, 'byName'>;
  readonly statistics: Readonly<Record<'rpc' | 'sba', Pick<CallStatistics, 'countsByName'>>>;
}

/** A call hangs after this many times the p99 of its name. */
const TIMES_USUAL = 10;
/** Shorter calls never count as hung. */
const MIN_S = 5;
/** The limit for a single call of a name without a p99. */
const MIN_ALONE_S = 30;

/** The name with the most hung calls; null if nothing hangs. */
export function findHung({ running, statistics }: Calls): HungName | null {
  let worst: HungName | null = null;
  for (const name of running.byName()) {
    if (name.youngest < MIN_S || name.count < (worst?.count ?? 1)) continue;
    const p99 = usualOf(name, statistics);
    const isAlone = name.count === 1 && p99 === null;
    const leastS = p99 === null ? (isAlone ? MIN_ALONE_S : MIN_S) : TIMES_USUAL * p99;
    const isWorse = worst === null || name.count > worst.count || name.oldest > worst.oldest;
    if (name.youngest >= leastS && isWorse) worst = { ...name, p99 };
  }
  return worst;
}

function usualOf({ kind, name }: RunningName, statistics: Calls['statistics']): number | null {
  if (kind !== 'rpc' && kind !== 'sba') return null;
  const durations = statistics[kind].countsByName.get(name)?.durations;
  const counts = durations?.cumulative() ?? [];
  const all = counts.at(-1) ?? 0;
  if (durations === undefined || all === 0) return null;
  // Durations above the last bound are unknown.
  return durations.bounds[counts.findIndex((count) => count >= 0.99 * all)] ?? Number.POSITIVE_INFINITY;
}

/** Shown in place of a name without an answered call, which may be any text that a client sent. */
export const UNCONFIRMED = '(not answered yet)';

/** For readers without the role `sessions`: hides a name without an answered call. */
export function hideUnconfirmedName({ name, p99 }: HungName): string {
  return p99 === null ? UNCONFIRMED : name;
}
