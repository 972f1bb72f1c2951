import { Readable } from 'node:stream';
import type { LoopShare } from './loop-share.ts';

const CHUNK_CHARS = 32 * 1024;

/**
 * Streams a long text as UTF-8, in turns of the event loop and only as fast as the client reads. It never holds more
 * than two chunks of about 32 KB. It takes one of `pieces` at a time, so the longest piece bounds the length of a
 * slice. An empty piece only marks a point to pause. The stream ends when the client disconnects.
 */
export class SlicedAnswer extends Readable {
  readonly #pieces: Iterator<string>;
  readonly #share: LoopShare;
  readonly #work = (): void => this.#write();
  #chunk = '';
  #bytes = 0;
  #maxBytes = Number.POSITIVE_INFINITY;
  #createError: (() => Error) | undefined;

  constructor(pieces: Iterable<string>, share: LoopShare) {
    super({ highWaterMark: CHUNK_CHARS });
    this.#pieces = pieces[Symbol.iterator]();
    this.#share = share;
  }

  /** Fails with the error that `createError` returns instead of sending more than `maxBytes`. */
  limit(maxBytes: number, createError: () => Error): void {
    this.#maxBytes = maxBytes;
    this.#createError = createError;
  }

  override _read(): void {
    this.#share.enter(this.#work);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#share.leave(this.#work);
    this.#chunk = '';
    this.#pieces.return?.();
    callback(error);
  }

  #write(): void {
    try {
      this.#writeUntilDue();
    } catch (cause) {
      this.destroy(cause as Error);
    }
  }

  /** Writes one chunk, or less if the share is used up. */
  #writeUntilDue(): void {
    do {
      const { done, value } = this.#pieces.next();
      if (done === true) {
        this.#pushChunk();
        this.push(null);
        return;
      }
      this.#chunk += value;
      if (this.#chunk.length >= CHUNK_CHARS) {
        this.#pushChunk();
        return;
      }
    } while (!this.#share.isDue);
    this.#share.enter(this.#work);
  }

  #pushChunk(): void {
    const chunk = Buffer.from(this.#chunk, 'utf8');
    this.#chunk = '';
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) throw this.#createError?.();
    if (chunk.length > 0) this.push(chunk);
  }
}
