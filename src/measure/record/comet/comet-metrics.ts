/** Comet numbers besides calls and objects: holds (not calls), trouble between clients and server, and unread data. */

import type { Clock } from '../../../base/clock.ts';
import { NS_PER_S } from '../../../base/clock.ts';
import { LifetimeTimer } from '../../../metrics/lifetime-timer.ts';
import type { TimerReading } from '../../../metrics/timer.ts';
import type { ArchiveReader } from '../../../state/archive/archive-reader.ts';
import { loadCounters, saveCounters, takeCounters } from '../../../state/archive/archive-record.ts';
import type { ArchiveWriter } from '../../../state/archive/archive-writer.ts';

/** What ended a `/meta/connect`: a delivery, the server's time limit, or an interruption by either side. */
export type HoldEnding = 'delivery' | 'empty' | 'broken';

/** Why something passed unread. Its bytes were forwarded as always. */
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

export type CometTable = 'clients' | 'subscriptions' | 'calls' | 'requests';

/** Plain numbers since the start, at the moment of reading. */
export interface CometNumbers {
  readonly messages: { readonly client: number; readonly upstream: number };
  readonly holds: {
    readonly now: number;
    readonly ended: Readonly<Record<HoldEnding, number>>;
    /** Durations of ended holds; no timer of calls has them. */
    readonly duration: TimerReading;
  };
  readonly handshakes: { readonly accepted: number; readonly refused: number; readonly storms: number };
  /** Answers `402`: the server no longer knows the client. */
  readonly unknownClients: number;
  /** Clients that fell back to long-polling although WebSocket had been offered or used. */
  readonly fallbacks: number;
  /** Connects that came later than the server had advised. */
  readonly connectGaps: number;
  /** Clients from before the sidecar's start. */
  readonly adopted: number;
  readonly unread: Readonly<Record<UnreadReason, number>>;
  readonly untracked: Readonly<Record<CometTable, number>>;
  /** Calls without an answer: expired, or abandoned because their client ended. */
  readonly unanswered: { readonly timedOut: number; readonly abandoned: number };
}

/** This many handshakes within `STORM_WITHIN_NS` are a storm, e.g. from all browsers after the server's restart. */
export const STORM_HANDSHAKES = 50;
const STORM_WITHIN_NS = 10 * NS_PER_S;

/** In the order of the state file. */
const PLAIN_COUNTERS = [
  'clientMessages',
  'upstreamMessages',
  'accepted',
  'refused',
  'unknownClients',
  'fallbacks',
  'connectGaps',
  'adopted',
  'timedOut',
  'abandoned',
] as const;

export class CometMetrics {
  readonly #holdDuration: LifetimeTimer;
  readonly #ended: Record<HoldEnding, number> = { delivery: 0, empty: 0, broken: 0 };
  /** Has all reasons from the start, so that the first occurrence is a step in a series and not a new series. */
  readonly #unread = Object.fromEntries(UNREAD_REASONS.map((reason) => [reason, 0])) as Record<UnreadReason, number>;
  readonly #untracked: Record<CometTable, number> = { clients: 0, subscriptions: 0, calls: 0, requests: 0 };
  #holdsNow = 0;
  #stormBeganNs = Number.NEGATIVE_INFINITY;
  #stormHandshakes = 0;
  #storms = 0;
  clientMessages = 0;
  upstreamMessages = 0;
  accepted = 0;
  refused = 0;
  unknownClients = 0;
  fallbacks = 0;
  connectGaps = 0;
  adopted = 0;
  timedOut = 0;
  abandoned = 0;

  constructor(clock: Clock) {
    this.#holdDuration = new LifetimeTimer(clock);
  }

  holdBegan(): void {
    this.#holdsNow += 1;
  }

  holdEnded(ending: HoldEnding, durationNs: number, nowNs: number): void {
    this.#holdsNow -= 1;
    this.#ended[ending] += 1;
    this.#holdDuration.update(durationNs, nowNs);
  }

  /** Counts every handshake request, whatever the answer. */
  handshakeAsked(nowNs: number): void {
    if (nowNs - this.#stormBeganNs > STORM_WITHIN_NS) {
      this.#stormBeganNs = nowNs;
      this.#stormHandshakes = 0;
    }
    this.#stormHandshakes += 1;
    if (this.#stormHandshakes === STORM_HANDSHAKES) this.#storms += 1;
  }

  passedUnread(reason: UnreadReason): void {
    this.#unread[reason] += 1;
  }

  tableFull(table: CometTable): void {
    this.#untracked[table] += 1;
  }

  /** Writes everything except the current holds. Synchronous, so all is of one moment. */
  save(out: ArchiveWriter): void {
    saveCounters(out, this.#ended);
    out.count(this.#holdDuration.count);
    this.#holdDuration.save(out);
    saveCounters(out, this.#unread);
    saveCounters(out, this.#untracked);
    out.count(this.#storms);
    for (const name of PLAIN_COUNTERS) out.count(this[name]);
  }

  load(input: ArchiveReader): void {
    takeCounters(this.#ended, loadCounters(input));
    this.#holdDuration.load(input, input.count());
    takeCounters(this.#unread, loadCounters(input));
    takeCounters(this.#untracked, loadCounters(input));
    this.#storms = input.count();
    for (const name of PLAIN_COUNTERS) this[name] = input.count();
  }

  read(): CometNumbers {
    return {
      messages: { client: this.clientMessages, upstream: this.upstreamMessages },
      holds: { now: this.#holdsNow, ended: { ...this.#ended }, duration: this.#holdDuration },
      handshakes: { accepted: this.accepted, refused: this.refused, storms: this.#storms },
      unknownClients: this.unknownClients,
      fallbacks: this.fallbacks,
      connectGaps: this.connectGaps,
      adopted: this.adopted,
      unread: { ...this.#unread },
      untracked: { ...this.#untracked },
      unanswered: { timedOut: this.timedOut, abandoned: this.abandoned },
    };
  }
}
