const EVERY_MS = 20;

/** Measures how late timers of this process are: delay that is the users' own, not the sidecar's. */
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
