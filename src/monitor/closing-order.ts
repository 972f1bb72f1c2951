/**
 * Connections in the order in which they are closed when room is needed: the oldest of the address that has most of them. Addresses with
 * no more than `SHARE` count as equal; among these the oldest of all is next.
 */

/** A browser opens 6 connections to one host. Addresses with no more than this are equal. */
const SHARE = 8;

export class ClosingOrder<T> {
  /** The oldest is first; so it is in each of the groups. */
  readonly #all = new Set<T>();
  readonly #groups = new Map<string, Set<T>>();
  /** Addresses with `SHARE + 1` connections, `SHARE + 2`, and so on; the last one is not empty. */
  readonly #above: Set<string>[] = [];

  get size(): number {
    return this.#all.size;
  }

  /** As the newest. */
  add(address: string, connection: T): void {
    const group = this.#groups.get(address) ?? new Set<T>();
    this.#groups.set(address, group);
    this.#rank(address, group.size, group.size + 1);
    group.add(connection);
    this.#all.add(connection);
  }

  /** Does nothing for one that is not here. */
  remove(address: string, connection: T): void {
    const group = this.#groups.get(address);
    if (group === undefined || !group.has(connection)) return;
    this.#rank(address, group.size, group.size - 1);
    group.delete(connection);
    this.#all.delete(connection);
    if (group.size === 0) this.#groups.delete(address);
  }

  /** The one to close first. */
  first(): T | undefined {
    const [most] = this.#above.at(-1) ?? [];
    return most === undefined ? firstOf(this.#all) : this.firstOf(most);
  }

  /** The one of `address` to close first. */
  firstOf(address: string): T | undefined {
    return firstOf(this.#groups.get(address));
  }

  /** Sizes differ by one, so that the last set is never more than one away from the one that has changed. */
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
