import { detached } from '../../protocol/http1/text.ts';

/**
 * A cache with texts as keys: paths of calls, or tokens of Comet clients. A cheap approximation of
 * least-recently-used.
 *
 * It has two generations. An entry that is read moves to the young one; when the young one is full it becomes the old
 * one, and the previous old one is dropped. The cache thus holds at most `2 * entries` texts, however long a scan is.
 * A text that is used at least once per `entries` new ones is never evicted.
 */
export class CallCache<Value> {
  readonly #entries: number;
  readonly #maxTextChars: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  /** `entries`: size of one generation. Texts over `maxTextChars` are not cached, which bounds the memory in bytes. */
  constructor(entries: number, maxTextChars: number) {
    this.#entries = entries;
    this.#maxTextChars = maxTextChars;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(text: string): Value | undefined {
    // Its hash would cost more than the rest.
    if (text.length > this.#maxTextChars) return undefined;
    const young = this.#young.get(text);
    if (young !== undefined || this.#old.size === 0) return young;
    const old = this.#old.get(text);
    if (old !== undefined) {
      this.#old.delete(text);
      this.set(text, old);
    }
    return old;
  }

  set(text: string, value: Value): void {
    if (text.length > this.#maxTextChars) return;
    if (this.#young.size >= this.#entries) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(detached(text), value);
  }
}
