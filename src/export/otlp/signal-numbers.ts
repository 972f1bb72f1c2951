/** What became of all that was to be sent of one signal: counted for `/metrics`, and told once whenever that changes. */
import { ERROR_CODES } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { MonitoredSignal } from '../../monitor/monitored.ts';

export type Signal = 'metrics' | 'traces';

export const FAILURE_REASONS = [
  /** Refused, reset, no route, no name. */
  'unreachable',
  /** No answer within `otlp.timeout`. */
  'timeout',
  /** The receiver's certificate is not to be trusted, or TLS failed. */
  'tls',
  /** 401 and 403. */
  'unauthorized',
  /** Any other answer that is no success and not worth another try. */
  'refused',
  /** 429, 502, 503 and 504, until the time was over. */
  'unavailable',
  /** A file or variable of ours cannot be used: fields to send along, or authorities. */
  'files',
  /** What was to be sent could not be read. A mistake in this program. */
  'internal',
] as const;

export type FailureReason = (typeof FAILURE_REASONS)[number];

export interface Failure {
  readonly reason: FailureReason;
  /** Of the receiver's answer. */
  readonly status?: number | undefined;
  /** About a file or variable; without what is in it. */
  readonly detail?: string | undefined;
}

const HOW_TO_SAY: Readonly<Record<Signal, string>> = { metrics: 'metrics', traces: 'spans' };

export class SignalNumbers implements MonitoredSignal {
  readonly #signal: Signal;
  readonly #logger: Logger;
  readonly exports = { ok: 0, failed: 0 };
  readonly items = { accepted: 0, rejected: 0, lost: 0, dropped: 0 };
  // All reasons from the start, so that a first failure is a step and no new series.
  readonly failures = new Map<FailureReason, number>(FAILURE_REASONS.map((reason) => [reason, 0]));
  longestSerializationNs = 0;
  /** What was told last: fine, items rejected, or the reason of a failure. */
  #state: 'fine' | 'rejecting' | FailureReason | undefined;

  constructor(signal: Signal, logger: Logger) {
    this.#signal = signal;
    this.#logger = logger;
  }

  get isUp(): boolean | undefined {
    return this.#state === undefined ? undefined : this.#state === 'fine' || this.#state === 'rejecting';
  }

  /** `rejected`: how many of `count` data points or spans the receiver says that it did not take. */
  succeeded(count: number, rejected: number): void {
    this.exports.ok += 1;
    this.items.accepted += count - rejected;
    this.items.rejected += rejected;
    const what = HOW_TO_SAY[this.#signal];
    const details = { signal: this.#signal };
    if (rejected > 0) {
      if (this.#enter('rejecting')) this.#logger.warn({ ...details, rejected }, `the OTLP receiver rejects ${what}`);
      return;
    }
    const isFirst = this.#state === undefined;
    if (this.#enter('fine')) {
      this.#logger.info(details, `the OTLP receiver takes ${what}${isFirst ? '' : ' again'}`);
    }
  }

  failed(count: number, { reason, ...details }: Failure): void {
    this.exports.failed += 1;
    this.items.lost += count;
    this.failures.set(reason, (this.failures.get(reason) ?? 0) + 1);
    if (!this.#enter(reason)) return;
    const code = 'D2S_ERR_OTLP';
    this.#logger.warn({ code, signal: this.#signal, reason, ...details }, ERROR_CODES[code]);
  }

  /** Was not even tried: the request before it, of the same push, had failed. */
  lost(count: number): void {
    this.items.lost += count;
  }

  /** There was no place for it. */
  dropped(): void {
    this.items.dropped += 1;
  }

  /** True if this is news. */
  #enter(state: 'fine' | 'rejecting' | FailureReason): boolean {
    const isNews = this.#state !== state;
    this.#state = state;
    return isNews;
  }
}
