import type { BodyObserver } from '../../exchange/exchange.ts';

/** Copies a body as it passes, up to `maxBytes`; a larger one is let go at once. */
export class BodyCollector implements BodyObserver {
  readonly #maxBytes: number;
  /** Called once: with the whole body, or `undefined` when it is too large. */
  readonly #onBody: (body: Buffer | undefined) => void;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #isDone = false;

  constructor(maxBytes: number, onBody: (body: Buffer | undefined) => void) {
    this.#maxBytes = maxBytes;
    this.#onBody = onBody;
  }

  onBytes(bytes: Buffer): void {
    if (this.#isDone) return;
    this.#bytes += bytes.length;
    if (this.#bytes > this.#maxBytes) this.#done(undefined);
    else this.#chunks.push(Buffer.from(bytes));
  }

  onEnd(): void {
    if (this.#isDone) return;
    const [first] = this.#chunks;
    this.#done(this.#chunks.length === 1 && first !== undefined ? first : Buffer.concat(this.#chunks));
  }

  #done(body: Buffer | undefined): void {
    this.#isDone = true;
    this.#chunks = [];
    this.#onBody(body);
  }
}
