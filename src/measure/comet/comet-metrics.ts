/** Comet numbers besides calls and objects. A hold is a `/meta/connect` without an answer yet. It is not a call. */

import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { counter, gauge, type MetricDescription, summary } from '../../base/metric-description.ts';
import { Timer } from '../../metrics/timer.ts';
import type { SavedFields, SavedRecord } from '../../state/saved-record.ts';

/** What ended a hold: a delivery, the server's time limit, or an interruption by either side. */
export type HoldEnding = 'delivery' | 'empty' | 'broken';

/** Why traffic passed unread: `body-too-large` is an HTTP body, `too-large` a WebSocket message. */
export type UnreadReason = (typeof UNREAD_REASONS)[number];

const UNREAD_REASONS = [
  'body-too-large',
  'not-bayeux',
  'too-complex',
  'content-coding',
  'too-large',
  'inflated-too-large',
  'malformed',
  'extension',
  'budget',
  'time',
  'text',
  'binary',
] as const;

/** This many handshakes within `STORM_WITHIN_NS` are a storm, e.g. of all browsers after the server's restart. */
export const STORM_HANDSHAKES = 50;
const STORM_WITHIN_NS = 10 * NS_PER_S;

export class CometMetrics {
  readonly counts = {
    clientMessages: 0,
    upstreamMessages: 0,
    accepted: 0,
    refused: 0,
    storms: 0,
    unknownClients: 0,
    fallbacks: 0,
    connectGaps: 0,
    adopted: 0,
    timedOut: 0,
    abandoned: 0,
  };
  readonly holds: { now: number; readonly ended: Record<HoldEnding, number>; readonly duration: Timer };
  /** Has all reasons from the start, so that the first occurrence is a step in a series and not a new series. */
  readonly unread = Object.fromEntries(UNREAD_REASONS.map((reason) => [reason, 0])) as Record<UnreadReason, number>;
  readonly untracked = { clients: 0, subscriptions: 0, calls: 0, requests: 0 };
  #stormBeganNs = Number.NEGATIVE_INFINITY;
  #stormHandshakes = 0;

  constructor(clock: Clock) {
    this.holds = { now: 0, ended: { delivery: 0, empty: 0, broken: 0 }, duration: new Timer({ clock }) };
  }

  holdEnded(ending: HoldEnding, durationNs: number, nowNs: number): void {
    this.holds.now -= 1;
    this.holds.ended[ending] += 1;
    this.holds.duration.update(durationNs, nowNs);
  }

  handshakeRequested(nowNs: number): void {
    if (nowNs - this.#stormBeganNs > STORM_WITHIN_NS) {
      this.#stormBeganNs = nowNs;
      this.#stormHandshakes = 0;
    }
    this.#stormHandshakes += 1;
    if (this.#stormHandshakes === STORM_HANDSHAKES) this.counts.storms += 1;
  }

  passedUnread(reason: UnreadReason): void {
    this.unread[reason] += 1;
  }

  /** Everything except the current holds. Synchronous, so all numbers are of one moment. */
  save(): SavedFields {
    const { ended, duration } = this.holds;
    return {
      ...this.counts,
      ...{ unread: this.unread, untracked: this.untracked },
      holds: { ended, count: duration.count, timer: duration.save() },
    };
  }

  load(saved: SavedRecord): void {
    saved.countsInto(this.counts);
    saved.record('unread').countsInto(this.unread);
    saved.record('untracked').countsInto(this.untracked);
    const holds = saved.record('holds');
    holds.record('ended').countsInto(this.holds.ended);
    this.holds.duration.load(holds.record('timer'), holds.count('count'));
  }
}

export const COMET_METRICS: readonly MetricDescription<CometMetrics>[] = [
  counter(
    'd2_comet_messages_total',
    'Bayeux messages by who sent them.',
    ({ counts }) => ({ client: counts.clientMessages, upstream: counts.upstreamMessages }),
    'sender',
  ),
  gauge('d2_comet_holds', 'Held /meta/connect requests now.', ({ holds }) => holds.now),
  counter(
    'd2_comet_holds_ended_total',
    'Ended holds, by ending: delivery, empty, broken.',
    ({ holds }) => holds.ended,
    'ending',
  ),
  summary('d2_comet_hold_duration_seconds', 'Durations of holds.', ({ holds }) => {
    const { count, mean } = holds.duration.snapshot();
    // The timer covers its whole life, so this is the sum of all durations, up to rounding.
    return { count, sum: (mean * count) / NS_PER_S };
  }),
  counter(
    'd2_comet_handshakes_total',
    'Handshakes by outcome.',
    ({ counts: { accepted, refused } }) => ({ accepted, refused }),
    'outcome',
  ),
  counter(
    'd2_comet_handshake_storms_total',
    'How often 50 handshakes came within 10 s.',
    ({ counts }) => counts.storms,
  ),
  counter(
    'd2_comet_unknown_clients_total',
    'Replies 402: the server does not know the client.',
    ({ counts }) => counts.unknownClients,
  ),
  counter('d2_comet_fallbacks_total', 'Clients that fell back to long-polling.', ({ counts }) => counts.fallbacks),
  counter(
    'd2_comet_connect_gaps_total',
    'Connects at least a second later than the server advised.',
    ({ counts }) => counts.connectGaps,
  ),
  counter(
    'd2_comet_adopted_clients_total',
    'Clients from before the start, not counted as created sessions.',
    ({ counts }) => counts.adopted,
  ),
  counter(
    'd2_comet_unanswered_calls_total',
    'Comet calls without an answer: timed_out (an error) or abandoned (no error).',
    ({ counts }) => ({ timed_out: counts.timedOut, abandoned: counts.abandoned }),
    'reason',
  ),
  counter('d2_sidecar_comet_unread_total', 'Comet traffic passed unread, by reason.', 'unread', 'reason'),
  counter('d2_sidecar_comet_untracked_total', 'Entries dropped because their table was full.', 'untracked', 'table'),
];
