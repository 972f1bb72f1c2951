/** A member of one `Roster`, which alone writes `place`. */
export interface Member {
  /** Index in the roster; -1 outside of it. */
  place: number;
}

/**
 * A set of objects that come and go quickly, such as connections.
 *
 * A `Set` would keep dead members in memory: when V8 replaces the table of a Set, the old table still refers to its
 * members and to the next table. Once one table has reached the old heap, all later members follow it there and stay
 * until the next full collection (`npm run bench -- --workload close,front`).
 */
export class Roster<T extends Member> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: T): void {
    member.place = this.#members.length;
    this.#members.push(member);
  }

  /** Does nothing if `member` has been deleted. */
  delete(member: T): void {
    const { place } = member;
    const last = this.#members[place < 0 ? -1 : this.#members.length - 1];
    if (last === undefined) return;
    this.#members[place] = last;
    last.place = place;
    this.#members.pop();
    member.place = -1;
  }

  /** In no particular order. The current member may be deleted meanwhile; a member that is added is left out. */
  *[Symbol.iterator](): Generator<T> {
    for (let at = this.#members.length - 1; at >= 0; at -= 1) {
      const member = this.#members[at];
      if (member !== undefined) yield member;
    }
  }
}
