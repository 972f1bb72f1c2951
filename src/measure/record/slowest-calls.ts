import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { detached } from '../../protocol/http1/text.ts';
import { type EndedCall, toEpochMs } from './call-observer.ts';
import type { CallTimes, SlowOutcome } from './call-totals.ts';
import { type CallEntry, describeCall, type RunningCall } from './running-calls.ts';

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
