/** Time limit of the current wait: for a connection, a head or a response. Only one runs at a time. */
export class PhaseTimer {
  #timer: NodeJS.Timeout | undefined;

  /** Calls `act` after `limitMs`, once pending input has been read: our own stall is not the other side's silence. */
  start(limitMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      setImmediate(() => {
        if (this.#timer === timer) act();
      });
    }, limitMs);
    this.#timer = timer;
  }

  startOnce(limitMs: number, act: () => void): void {
    if (this.#timer === undefined) this.start(limitMs, act);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
