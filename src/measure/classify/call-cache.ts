import { detached } from '../../protocol/http1/text.ts';

/**
 * A cache from paths to their meaning, a cheap approximation of least-recently-used.
 *
 * It has two generations. An entry that is read moves to the young one; when the young one is full it becomes the old
 * one, and the previous old one is dropped. The cache thus holds at most `2 * entries` paths, however long a scan is,
 * and a path that is used at least once in every `entries` new ones is never evicted.
 */
export class CallCache<Value> {
  readonly #entries: number;
  readonly #maxPathChars: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  /** `entries`: size of one generation. Paths over `maxPathChars` are not cached, which bounds the memory in bytes. */
  constructor(entries: number, maxPathChars: number) {
    this.#entries = entries;
    this.#maxPathChars = maxPathChars;
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  get(path: string): Value | undefined {
    const young = this.#young.get(path);
    if (young !== undefined || this.#old.size === 0) return young;
    const old = this.#old.get(path);
    if (old !== undefined) {
      this.#old.delete(path);
      this.set(path, old);
    }
    return old;
  }

  set(path: string, value: Value): void {
    if (path.length > this.#maxPathChars) return;
    if (this.#young.size >= this.#entries) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(detached(path), value);
  }
}
