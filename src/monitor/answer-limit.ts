/**
 * Keeps answers of the monitoring port within `monitor.maxAnswerBytes`. An answer is made while it is sent, so that it turns out to
 * be too large when a part of it has gone: it is broken off then, which nobody can take for its end. Whoever asks for the same within
 * a minute gets 507 with the reason, and the answer is not even begun.
 */
import { Readable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { NS_PER_S } from '../base/clock.ts';
import type { LimitHits } from '../limits/limit-hits.ts';
import { ProblemError } from './problem.ts';

/** Long enough for the next scrape. */
const REMEMBERED_NS = 60 * NS_PER_S;
/** Different questions with such answers; there are hardly two. */
const MAX_REMEMBERED = 16;

export class AnswerLimit {
  readonly #hits: LimitHits;
  readonly #clock: Clock;
  /** Targets of requests and when their answers were too large; the last one is last. */
  readonly #tooLarge = new Map<string, number>();
  #maxBytes: number;

  constructor(maxBytes: number, hits: LimitHits, clock: Clock) {
    this.#maxBytes = maxBytes;
    this.#hits = hits;
    this.#clock = clock;
  }

  /** Another limit from the next answer on, also for what was too large for the one before. */
  limitTo(maxBytes: number): void {
    if (maxBytes > this.#maxBytes) this.#tooLarge.clear();
    this.#maxBytes = maxBytes;
  }

  /** To be asked before an answer is made. Throws ProblemError: 507. */
  check(target: string): void {
    const atNs = this.#tooLarge.get(target);
    if (atNs === undefined) return;
    if (this.#clock.nowNs() - atNs < REMEMBERED_NS) throw this.#exceeded();
    this.#tooLarge.delete(target);
  }

  /** `payload` with its end at the limit; only streams are ever large. */
  limit(target: string, payload: unknown): unknown {
    return payload instanceof Readable ? Readable.from(this.#limited(target, payload)) : payload;
  }

  async *#limited(target: string, pieces: Readable): AsyncGenerator<Buffer, void, undefined> {
    let sentBytes = 0;
    for await (const piece of pieces as AsyncIterable<string | Buffer>) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece;
      sentBytes += bytes.length;
      if (sentBytes > this.#maxBytes) {
        this.#remember(target);
        // Sent as an answer as long as nothing else has been; then the connection ends with it.
        throw this.#exceeded();
      }
      yield bytes;
    }
  }

  #remember(target: string): void {
    this.#tooLarge.delete(target);
    const [oldest] = this.#tooLarge.keys();
    if (this.#tooLarge.size >= MAX_REMEMBERED && oldest !== undefined) this.#tooLarge.delete(oldest);
    this.#tooLarge.set(target, this.#clock.nowNs());
  }

  #exceeded(): ProblemError {
    this.#hits.hit('monitor.maxAnswerBytes');
    const detail =
      `The answer is larger than ${this.#maxBytes} bytes (monitor.maxAnswerBytes). Ask for a part of it, or lower ` +
      'metrics.maxNames or sessions.max.';
    return new ProblemError({ status: 507, detail });
  }
}
