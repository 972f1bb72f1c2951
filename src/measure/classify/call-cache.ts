import { detached } from '../../protocol/http1/text.ts';

/**
 * Remembers what paths mean, for the most recently used of them.
 *
 * Two generations make it a cheap approximation of least-recently-used: what is used moves to the young one; when that is
 * full it becomes the old one, and the old one is forgotten. A scan of any length therefore takes at most
 * `2 * entries` places, and a path used at least once in every `entries` new ones is never forgotten.
 */
export class CallCache<Value> {
  readonly #entries: number;
  readonly #maxPathChars: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  /** `entries`: size of a generation. Longer paths than `maxPathChars` are not remembered: memory has a bound in bytes too. */
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
