/** The limit of what is waited for now, of which there is one at a time. */
export class PhaseTimer {
  #timer: NodeJS.Timeout | undefined;

  get isRunning(): boolean {
    return this.#timer !== undefined;
  }

  /** `act` comes behind what has been sent in time: that this process stood still is not the other side's silence. */
  start(limitMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (this.#timer === timer) act();
      });
    }, limitMs);
    this.#timer = timer;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
