import { addressKeyOf } from './address-key.ts';

/**
 * Counts open connections per client address. Only addresses with a connection have an entry, which bounds the size.
 */
export class AddressCounts {
  readonly #counts = new Map<string, number>();
  /** Maximum connections per address; 0: any number. A lower limit closes no open connection. */
  max: number;

  constructor(max: number) {
    this.max = max;
  }

  get size(): number {
    return this.#counts.size;
  }

  /** Counts one more connection; returns the function that ends it. Undefined when the address is at its limit. */
  enter(address: string): (() => void) | undefined {
    const key = addressKeyOf(address);
    const count = this.#counts.get(key) ?? 0;
    if (this.max > 0 && count >= this.max) return undefined;
    this.#counts.set(key, count + 1);
    return () => this.#leave(key);
  }

  #leave(key: string): void {
    const count = this.#counts.get(key) ?? 0;
    if (count > 1) this.#counts.set(key, count - 1);
    else this.#counts.delete(key);
  }
}
