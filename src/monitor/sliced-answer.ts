import { Readable } from 'node:stream';
import type { Turns } from './turns.ts';

const CHUNK_CHARS = 32 * 1024;

/**
 * A long text as a stream of UTF-8, written piece by piece in turns of the event loop, and only as fast as it is read: there
 * never is more of it than two chunks of about 32 KB. `pieces` are taken one at a time, so the longest of them says how long a turn
 * can be; an empty one is only a place to stop at. Whoever goes away in the middle ends it.
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

  /** One chunk, or the part of one that there is time for. */
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
