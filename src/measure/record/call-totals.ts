import { NS_PER_S } from '../../base/clock.ts';
import { type BucketBounds, DurationBuckets } from '../../metrics/duration-buckets.ts';
import type { CallKind } from '../classify/classifier.ts';
import type { EndedCall } from './call-observer.ts';

/** `unanswered`: the server gave no answer, or an incomplete one. `aborted`: the client left before. */
export type SlowOutcome = 'ok' | 'client_error' | 'error' | 'unanswered' | 'aborted';

type EndingKind = 'completed' | 'answered' | 'refused' | 'failed' | 'cancelled' | 'aborted';

/** The outcome of a call over REST or Comet. `status` matters only if the call was answered. */
export function classifyOutcome(kind: EndingKind, status: number): SlowOutcome {
  if (kind === 'failed') return 'unanswered';
  if (kind === 'cancelled' || kind === 'aborted') return 'aborted';
  if (status >= 500) return 'error';
  return status >= 400 ? 'client_error' : 'ok';
}

export type CallTimes = Pick<EndedCall, 'beganNs' | 'endedNs' | 'durationNs' | 'clientWaitNs' | 'firstByteNs'>;

const LONG_WAIT_NS = NS_PER_S;

/** All calls of an application since the start of the process: every kind, over REST and Comet. */
export class CallTotals {
  /** A call that takes longer is late. */
  lateAfterNs = Number.POSITIVE_INFINITY;
  /** Each call counts in exactly one of the first five. Times are in seconds. */
  readonly counts = {
    ok: 0,
    clientErrors: 0,
    /** Answers of status 500 and above. */
    errors: 0,
    unanswered: 0,
    aborted: 0,
    /** Those of the unanswered that the sidecar refused: the server never saw them. */
    refusedHere: 0,
    /** Those of the above that took longer than `calls.clientTimeout`. */
    late: 0,
    durationS: 0,
    clientWaitS: 0,
    /** Calls with a client wait of over a second. */
    longWaits: 0,
  };
  /** `firstByte`: from the head to the first byte of the final answer. */
  readonly byKind: Readonly<Record<CallKind, { clientWaitNs: number; readonly firstByte: DurationBuckets }>>;

  /** `bounds` of the time to the first byte: default `CALL_BOUNDS`. */
  constructor(bounds?: BucketBounds) {
    const create = () => ({ clientWaitNs: 0, firstByte: new DurationBuckets(bounds) });
    this.byKind = { rpc: create(), sba: create(), object: create(), session: create() };
  }

  ended(kind: CallKind, outcome: SlowOutcome, { durationNs, clientWaitNs, firstByteNs, beganNs }: CallTimes): void {
    const { counts } = this;
    // Nearly all are ok, and a property by its own name costs V8 less than one by a name that varies.
    if (outcome === 'ok') counts.ok += 1;
    else counts[COUNTERS[outcome]] += 1;
    counts.durationS += durationNs / NS_PER_S;
    counts.clientWaitS += clientWaitNs / NS_PER_S;
    if (durationNs > this.lateAfterNs) counts.late += 1;
    if (clientWaitNs > LONG_WAIT_NS) counts.longWaits += 1;
    const ofKind = this.byKind[kind];
    ofKind.clientWaitNs += clientWaitNs;
    if (firstByteNs > 0) ofKind.firstByte.add(firstByteNs - beganNs);
  }
}

const COUNTERS = {
  ok: 'ok',
  client_error: 'clientErrors',
  error: 'errors',
  unanswered: 'unanswered',
  aborted: 'aborted',
} as const satisfies Record<SlowOutcome, keyof CallTotals['counts']>;
