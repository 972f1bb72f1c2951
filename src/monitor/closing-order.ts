/**
 * The order in which connections are closed to make room: the oldest one of the address with the most connections. If
 * no address has more than `SHARE`, the oldest one of all.
 */

/** A browser opens 6 connections to one host. */
const SHARE = 8;

export class ClosingOrder<T> {
  /** Oldest first, as in each of the groups. */
  readonly #all = new Set<T>();
  readonly #groups = new Map<string, Set<T>>();
  /** Addresses with `SHARE + 1` connections, `SHARE + 2`, and so on; the last set is never empty. */
  readonly #above: Set<string>[] = [];

  get size(): number {
    return this.#all.size;
  }

  /** Adds `connection` as the newest. */
  add(address: string, connection: T): void {
    const group = this.#groups.get(address) ?? new Set<T>();
    this.#groups.set(address, group);
    this.#rank(address, group.size, group.size + 1);
    group.add(connection);
    this.#all.add(connection);
  }

  /** Does nothing for an unknown connection. */
  remove(address: string, connection: T): void {
    const group = this.#groups.get(address);
    if (group === undefined || !group.has(connection)) return;
    this.#rank(address, group.size, group.size - 1);
    group.delete(connection);
    this.#all.delete(connection);
    if (group.size === 0) this.#groups.delete(address);
  }

  /** The next connection to close. */
  first(): T | undefined {
    const [most] = this.#above.at(-1) ?? [];
    return most === undefined ? firstOf(this.#all) : this.firstOf(most);
  }

  firstOf(address: string): T | undefined {
    return firstOf(this.#groups.get(address));
  }

  /** Sizes change by one, so at most one set at the end becomes empty. */
  #rank(address: string, before: number, after: number): void {
    this.#above[before - SHARE - 1]?.delete(address);
    if (after > SHARE) {
      const at = after - SHARE - 1;
      const addresses = this.#above[at] ?? new Set<string>();
      this.#above[at] = addresses;
      addresses.add(address);
    }
    if (this.#above.at(-1)?.size === 0) this.#above.pop();
  }
}

function firstOf<T>(set: Set<T> | undefined): T | undefined {
  const [first] = set ?? [];
  return first;
}
