import { Readable } from 'node:stream';
import type { Turns } from './turns.ts';

const CHUNK_CHARS = 32 * 1024;

/**
 * Streams a long text as UTF-8, in turns of the event loop and only as fast as the client reads. It never holds more
 * than two chunks of about 32 KB. It takes one of `pieces` at a time, so the longest piece bounds the length of a turn.
 * An empty piece only marks a place to pause. It ends when the client disconnects.
 */
export class SlicedAnswer extends Readable {
  readonly #pieces: Iterator<string>;
  readonly #turns: Turns;
  readonly #work = (): void => this.#write();
  #chunk = '';

  constructor(pieces: Iterable<string>, turns: Turns) {
    super({ highWaterMark: CHUNK_CHARS });
    this.#pieces = pieces[Symbol.iterator]();
    this.#turns = turns;
  }

  override _read(): void {
    this.#turns.enter(this.#work);
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#turns.leave(this.#work);
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

  /** Writes one chunk, or less if the turn is over. */
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
    } while (!this.#turns.isDue);
    this.#turns.enter(this.#work);
  }

  #pushChunk(): void {
    const chunk = this.#chunk;
    this.#chunk = '';
    if (chunk !== '') this.push(Buffer.from(chunk, 'utf8'));
  }
}
