import { toAddressKey } from './address-key.ts';

/**
 * Connections open now, by the address that they come from. Holds an entry for each address that has one, so never more than
 * there are connections.
 */
export class AddressCounts {
  readonly #counts = new Map<string, number>();
  #max: number;

  /** `max`: see there. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Connections that one address may have from now on; 0: any number. Those that are open stay. */
  set max(max: number) {
    this.#max = max;
  }

  /** Addresses with a connection open. */
  get size(): number {
    return this.#counts.size;
  }

  /** Takes one more connection; what gives it back when it has closed. Undefined when the address has its share already. */
  enter(address: string): (() => void) | undefined {
    const key = toAddressKey(address);
    const count = this.#counts.get(key) ?? 0;
    if (this.#max > 0 && count >= this.#max) return undefined;
    this.#counts.set(key, count + 1);
    return () => this.#leave(key);
  }

  #leave(key: string): void {
    const count = this.#counts.get(key) ?? 0;
    if (count > 1) this.#counts.set(key, count - 1);
    else this.#counts.delete(key);
  }
}
