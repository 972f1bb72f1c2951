/**
 * Keeps answers of the monitoring port within `monitor.maxAnswerBytes`. An answer is streamed while it is generated, so
 * the limit may be reached when a part is already sent. The connection is then cut, so that no client mistakes the part
 * for the whole. For the next minute the same request gets 507 with the reason at once.
 */
import QuickLRU from 'quick-lru';
import { MS_PER_S } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import type { LimitHits } from '../limits/limit-hits.ts';
import { SlicedAnswer } from './sliced-answer.ts';

/** Longer than a scrape interval. */
const REMEMBERED_MS = 60 * MS_PER_S;
/** Distinct targets; more than two are unlikely. */
const MAX_REMEMBERED = 16;

export class AnswerLimit {
  readonly #hits: LimitHits;
  /** Targets of requests whose answers were too large. */
  readonly #tooLarge = new QuickLRU<string, true>({ maxSize: MAX_REMEMBERED, maxAge: REMEMBERED_MS });
  #maxBytes: number;

  constructor(maxBytes: number, hits: LimitHits) {
    this.#maxBytes = maxBytes;
    this.#hits = hits;
  }

  /** Takes effect for the next answer. A higher limit also admits requests whose answers were too large before. */
  limitTo(maxBytes: number): void {
    if (maxBytes > this.#maxBytes) this.#tooLarge.clear();
    this.#maxBytes = maxBytes;
  }

  /** Called before an answer is generated. Throws Problem: 507. */
  check(target: string): void {
    if (this.#tooLarge.has(target)) throw this.#exceeded();
  }

  /** Limits `payload` if it is a stream; only those can be large. */
  limit(target: string, payload: unknown): void {
    if (!(payload instanceof SlicedAnswer)) return;
    // The error becomes the answer if nothing has been sent yet; otherwise the connection is cut.
    payload.limit(this.#maxBytes, () => {
      this.#tooLarge.set(target, true);
      return this.#exceeded();
    });
  }

  #exceeded(): Problem {
    this.#hits.hit('monitor.maxAnswerBytes');
    const detail =
      `The answer is larger than ${this.#maxBytes} bytes (monitor.maxAnswerBytes). Request a part of it, or lower ` +
      'metrics.maxNames or sessions.max.';
    return new Problem(507, detail);
  }
}
