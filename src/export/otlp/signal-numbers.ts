/** Outcomes of the exports of one signal: counted for `/metrics`, and logged when they change. */
import { NS_PER_S } from '../../base/clock.ts';
import { ERROR_CODES } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { counter, gauge, type MetricDescription, readEach } from '../../base/metric-description.ts';

export type Signal = 'metrics' | 'traces';

const FAILURE_REASONS = [
  /** Refused, reset, no route, no name. */
  'unreachable',
  /** No answer within `otlp.timeout`. */
  'timeout',
  /** The receiver's certificate is not trusted, or TLS failed. */
  'tls',
  /** 401 and 403. */
  'unauthorized',
  /** Any other error status that is not worth a retry, or a success in a content coding. */
  'refused',
  /** 429, 502, 503 and 504, until the retries ran out of time. */
  'unavailable',
  /** A file or variable with header fields or certificate authorities cannot be used. */
  'files',
  /** The data could not be read: a bug in this program. */
  'internal',
] as const;

type FailureReason = (typeof FAILURE_REASONS)[number];

export interface Failure {
  readonly reason: FailureReason;
  readonly status?: number | undefined;
  /** About a file or variable, without its content; or an error code. */
  readonly detail?: string | undefined;
}

const SIGNAL_NOUNS: Readonly<Record<Signal, string>> = { metrics: 'metrics', traces: 'spans' };

export class SignalNumbers {
  readonly #signal: Signal;
  readonly #logger: Logger;
  readonly exports = { ok: 0, failed: 0 };
  /** `lost`: with a failed request, or after it in the same push. `dropped`: the queue had no room. */
  readonly items = { accepted: 0, rejected: 0, lost: 0, dropped: 0 };
  // All reasons exist from the start, so that a first failure is a step of a series and not a new one.
  readonly failures = new Map<FailureReason, number>(FAILURE_REASONS.map((reason) => [reason, 0]));
  longestSerializationNs = 0;
  /** Last logged state: fine, items rejected, or the reason of a failure. */
  #state: 'fine' | 'rejecting' | FailureReason | undefined;

  constructor(signal: Signal, logger: Logger) {
    this.#signal = signal;
    this.#logger = logger;
  }

  get isUp(): boolean | undefined {
    return this.#state === undefined ? undefined : this.#state === 'fine' || this.#state === 'rejecting';
  }

  /** `rejected`: how many of the `count` data points or spans the receiver rejected. */
  succeeded(count: number, rejected: number): void {
    this.exports.ok += 1;
    this.items.accepted += count - rejected;
    this.items.rejected += rejected;
    const what = SIGNAL_NOUNS[this.#signal];
    const details = { signal: this.#signal };
    if (rejected > 0) {
      if (this.#enter('rejecting')) this.#logger.warn({ ...details, rejected }, `the OTLP receiver rejects ${what}`);
      return;
    }
    const isFirst = this.#state === undefined;
    if (this.#enter('fine')) {
      this.#logger.info(details, `the OTLP receiver accepts ${what}${isFirst ? '' : ' again'}`);
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

  /** True if the state has changed. */
  #enter(state: 'fine' | 'rejecting' | FailureReason): boolean {
    const isNews = this.#state !== state;
    this.#state = state;
    return isNews;
  }
}

/** The signals that are pushed, and the spans that wait; undefined if no spans are made. */
export interface OtlpNumbers {
  readonly signals: ReadonlyMap<Signal, SignalNumbers>;
  readonly waitingSpans: number | undefined;
}

/** In this file, because the rest of the folder is loaded only if `otlp.endpoint` is set. */
export const OTLP_METRICS: readonly MetricDescription<OtlpNumbers>[] = [
  gauge(
    'd2_sidecar_otlp_up',
    'Whether the last request to the OTLP receiver succeeded.',
    ({ signals }) => readEach(signals, ({ isUp }) => (isUp === undefined ? undefined : Number(isUp))),
    'signal',
  ),
  counter(
    'd2_sidecar_otlp_exports_total',
    'Requests to the OTLP receiver.',
    ({ signals }) => readEach(signals, ({ exports }) => exports),
    'signal',
    'outcome',
  ),
  counter(
    'd2_sidecar_otlp_export_failures_total',
    'Failed requests to the OTLP receiver, by reason.',
    ({ signals }) => readEach(signals, ({ failures }) => failures),
    'signal',
    'reason',
  ),
  counter(
    'd2_sidecar_otlp_items_total',
    'Data points and spans: accepted, rejected, lost with a failure, or dropped for a full queue.',
    ({ signals }) => readEach(signals, ({ items }) => items),
    'signal',
    'outcome',
  ),
  gauge(
    'd2_sidecar_otlp_longest_serialization_seconds',
    'Longest time that writing one request held the event loop.',
    ({ signals }) => readEach(signals, ({ longestSerializationNs }) => longestSerializationNs / NS_PER_S),
    'signal',
  ),
  gauge('d2_sidecar_otlp_spans_waiting', 'Spans that are not sent yet.', 'waitingSpans'),
];
