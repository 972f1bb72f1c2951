/** Calls as the monitoring port lists them: those that run, that hang, and the slowest of the last hour. */
import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { type Member, Roster } from '../../base/roster.ts';
import type { CallStatistics } from '../../metrics/call-statistics.ts';
import { MAX_NAME_CHARS } from '../../metrics/name-table.ts';
import { detached } from '../../protocol/http1/text.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { ConnectionType, Session } from '../sessions/session.ts';
import { type EndedCall, toEpochMs } from './call-observer.ts';
import type { CallTimes, SlowOutcome } from './call-totals.ts';

export interface RunningCall extends Member {
  readonly call: { readonly kind: CallKind; readonly name: string };
  /** Undefined until the server has accepted its credential. */
  readonly session: Pick<Session, 'id' | 'userName'> | undefined;
  readonly connectionType: ConnectionType;
  readonly remoteAddress: string;
  readonly beganNs: number;
  /** Nanoseconds in which nothing but the client has held it up; no part of its age. */
  clientWaitAt(nowNs: number): number;
  /** When the server acknowledged it, which may be all that comes; 0 or undefined until then. */
  readonly ackedNs?: number;
  /** The file of the thread dump that was taken while it ran, if one was. */
  threadDump: string | undefined;
}

export type CallEntry = Readonly<ReturnType<typeof describeCall>>;

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

  /** Without those that the server has acknowledged: they are not hung. */
  byName(): Iterable<RunningName> {
    const nowNs = this.#clock.nowNs();
    const found = new Map<string, { -readonly [K in keyof RunningName]: RunningName[K] }>();
    for (const running of this) {
      if ((running.ackedNs ?? 0) > 0) continue;
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

/** A call as the monitoring port shows it. Times are ISO 8601, `duration` is in seconds. */
function describeCall(
  { call, connectionType, remoteAddress, beganNs, threadDump }: Omit<RunningCall, 'session' | 'clientWaitAt' | 'place'>,
  session: RunningCall['session'],
  durationNs: number,
  clock: Clock,
) {
  return {
    kind: call.kind,
    // A client may send a name of 64 KiB, and the list has 1,000 calls.
    name: call.name.length <= MAX_NAME_CHARS ? call.name : `${call.name.slice(0, MAX_NAME_CHARS - 1)}…`,
    ...{ sessionId: session?.id ?? null, userName: session?.userName ?? null },
    ...{ connectionType, remoteAddress },
    startTime: new Date(toEpochMs(clock, beganNs)).toISOString(),
    duration: durationNs / NS_PER_S,
    // The file name of the thread dump that was taken while it ran.
    ...(threadDump === undefined ? {} : { threadDump }),
  };
}

/** A name whose running calls all hang. Ages are in seconds. */
export interface HungName extends RunningName {
  /** Of all answered calls of this name, rounded up to one of `CALL_BOUNDS`; null without any. */
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
  const durations = statistics[kind].countsByName.get(name)?.usual;
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

export interface SlowEntry extends CallEntry {
  readonly endTime: string;
  /** Null without an answer. */
  readonly status: number | null;
  readonly outcome: SlowOutcome;
  /** Seconds in which nothing but the client held the call up; no part of `duration`. */
  readonly clientWait: number;
  /** Seconds from the head to the first byte of the final answer; null without one. */
  readonly firstByte: number | null;
}

export type SlowEnding = CallTimes & Pick<EndedCall, 'status'>;

interface Slow {
  readonly durationNs: number;
  readonly endedNs: number;
  readonly entry: SlowEntry;
}

interface Minute {
  readonly number: number;
  /** At most `max`, in any order. */
  readonly calls: Slow[];
  /** Calls up to this duration are not kept; -1 while there is room. */
  leastNs: number;
}

/** Longest name in characters. A longer one is cut and ends in `…`. */
const MAX_TEXT_CHARS = 256;
const MINUTE_NS = 60 * NS_PER_S;
const HOUR_NS = 60 * MINUTE_NS;

/** The slowest calls of the last hour: those of each minute, since others move up when older ones expire. */
export class SlowestCalls {
  readonly #clock: Clock;
  /** Maximum calls shown; 0: none. The current minute keeps its earlier maximum. */
  max: number;
  /** Oldest first; the last is the current one. */
  #minutes: Minute[] = [];

  constructor(max: number, clock: Clock) {
    this.max = max;
    this.#clock = clock;
  }

  /** `session`: the session that counted the call. The entry copies everything. */
  add(
    call: Omit<RunningCall, 'place' | 'session' | 'clientWaitAt'>,
    session: RunningCall['session'],
    ending: SlowEnding,
    outcome: SlowOutcome,
  ): void {
    const { durationNs, endedNs, status, clientWaitNs, firstByteNs } = ending;
    const minute = this.#minuteOf(endedNs);
    if (durationNs <= minute.leastNs || this.max === 0) return;
    const shown = describeCall(call, session, durationNs, this.#clock);
    const entry: SlowEntry = {
      ...shown,
      name: shortened(shown.name),
      userName: shown.userName && shortened(shown.userName),
      endTime: new Date(toEpochMs(this.#clock, endedNs)).toISOString(),
      ...{ status: status === 0 ? null : status, outcome, clientWait: clientWaitNs / NS_PER_S },
      firstByte: firstByteNs === 0 ? null : (firstByteNs - call.beganNs) / NS_PER_S,
    };
    const slow = { durationNs, endedNs, entry };
    if (minute.calls.length < this.max) minute.calls.push(slow);
    else minute.calls[indexOfLeast(minute.calls)] = slow;
    if (minute.calls.length >= this.max) minute.leastNs = minute.calls[indexOfLeast(minute.calls)]?.durationNs ?? -1;
  }

  /** Of the last hour, slowest first, those that `isWanted` accepts; each minute keeps its own slowest calls only. */
  slowest(isWanted: (entry: SlowEntry) => boolean = () => true): readonly SlowEntry[] {
    return this.#since(this.#clock.nowNs() - HOUR_NS, this.#minutes, isWanted);
  }

  /** Of the last seconds, at most 60; slowest first. */
  slowestSince(seconds: number): readonly SlowEntry[] {
    return this.#since(this.#clock.nowNs() - seconds * NS_PER_S, this.#minutes.slice(-2), () => true);
  }

  #since(sinceNs: number, minutes: readonly Minute[], isWanted: (entry: SlowEntry) => boolean): readonly SlowEntry[] {
    return minutes
      .flatMap(({ calls }) => calls)
      .filter(({ endedNs, entry }) => endedNs > sinceNs && isWanted(entry))
      .sort((a, b) => b.durationNs - a.durationNs)
      .slice(0, this.max)
      .map(({ entry }) => entry);
  }

  /** A Comet call may have ended in an earlier minute; it counts in the current one. */
  #minuteOf(endedNs: number): Minute {
    const number = Math.floor(endedNs / MINUTE_NS);
    const current = this.#minutes.at(-1);
    if (current !== undefined && number <= current.number) return current;
    const minute: Minute = { number, calls: [], leastNs: -1 };
    this.#minutes = this.#minutes.filter((old) => number - old.number <= HOUR_NS / MINUTE_NS);
    this.#minutes.push(minute);
    return minute;
  }
}

/** Up to 61 times `max` names stay for an hour, and a client may send a name of 64 KiB. */
function shortened(text: string): string {
  return text.length <= MAX_TEXT_CHARS ? text : `${detached(text.slice(0, MAX_TEXT_CHARS - 1))}…`;
}

function indexOfLeast(calls: readonly Slow[]): number {
  let least = 0;
  for (let at = 1; at < calls.length; at += 1) {
    if ((calls[at]?.durationNs ?? 0) < (calls[least]?.durationNs ?? 0)) least = at;
  }
  return least;
}
