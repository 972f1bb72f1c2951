/** The last warnings and errors of this program's log, for `d2-sidecar report`, in case the log itself is gone. */
const MAX_LINES = 200;
const MAX_LINE_CHARS = 4_096;

/** Prefixes of the lines to keep (logger.ts puts the level first). */
const KEPT = ['{"level":"warn"', '{"level":"error"'];

export class LogRing {
  readonly #lines: string[] = [];
  #dropped = 0;

  /** The lines without their line feeds, as JSON texts, oldest first. A long line is cut and becomes a JSON string. */
  get lines(): readonly string[] {
    return [...this.#lines];
  }

  get dropped(): number {
    return this.#dropped;
  }

  add(line: string): void {
    if (!KEPT.some((prefix) => line.startsWith(prefix))) return;
    this.#lines.push(
      line.length > MAX_LINE_CHARS ? JSON.stringify(`${line.slice(0, MAX_LINE_CHARS)}…`) : line.trimEnd(),
    );
    if (this.#lines.length <= MAX_LINES) return;
    this.#lines.shift();
    this.#dropped += 1;
  }
}
