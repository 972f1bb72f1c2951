/**
 * The order in which connections are closed to make room: first the oldest one of the address with the most
 * connections. If no address has more than `MAX_FAIR`, the oldest one of all.
 */

/** A browser opens 6 connections to one host. */
const MAX_FAIR = 8;

export class ClosingOrder<T> {
  /** Oldest first, as in each of the groups. */
  readonly #all = new Set<T>();
  readonly #groups = new Map<string, Set<T>>();

  get size(): number {
    return this.#all.size;
  }

  /** Adds `connection` as the newest. */
  add(address: string, connection: T): void {
    const group = this.#groups.get(address) ?? new Set<T>();
    this.#groups.set(address, group);
    group.add(connection);
    this.#all.add(connection);
  }

  /** Does nothing for an unknown connection. */
  remove(address: string, connection: T): void {
    const group = this.#groups.get(address);
    if (group === undefined || !group.has(connection)) return;
    group.delete(connection);
    this.#all.delete(connection);
    if (group.size === 0) this.#groups.delete(address);
  }

  /** The next connection to close. */
  first(): T | undefined {
    let most: Set<T> | undefined;
    for (const group of this.#groups.values()) {
      if (group.size > Math.max(MAX_FAIR, most?.size ?? 0)) most = group;
    }
    return firstOf(most ?? this.#all);
  }

  firstOf(address: string): T | undefined {
    return firstOf(this.#groups.get(address));
  }
}

function firstOf<T>(set: Set<T> | undefined): T | undefined {
  const [first] = set ?? [];
  return first;
}
