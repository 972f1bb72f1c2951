const EVERY_MS = 20;

/** Tells how late timers of this process are: what the users would take for the sidecar's delay although it is their own. */
export class LoopWatch {
  readonly #timer: NodeJS.Timeout;

  constructor(onLate: (lateMs: number) => void) {
    let dueMs = performance.now() + EVERY_MS;
    this.#timer = setInterval(() => {
      const nowMs = performance.now();
      onLate(Math.max(0, nowMs - dueMs));
      dueMs = nowMs + EVERY_MS;
    }, EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
