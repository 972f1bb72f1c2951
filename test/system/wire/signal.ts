/** A condition that several parties wait for: `until` looks again at each `notify`. Instead of sleeping and polling. */
export class Signal {
  #waiters = new Set<() => void>();

  notify(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  /** Resolves once `condition` holds. Unbounded: the run of a case has the deadline. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiters.delete(look);
        resolve();
      };
      this.#waiters.add(look);
      look();
    });
  }
}
