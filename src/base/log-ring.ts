/** The last warnings and errors of this program's log, for `d2-sidecar report`, in case the log itself is gone. */
const MAX_LINES = 200;
const MAX_LINE_CHARS = 4_096;

/** Prefixes of the lines to keep (logger.ts puts the level first). */
const KEPT = ['{"level":"warn"', '{"level":"error"'];

export class LogRing {
  #lines: string[] = [];
  #passed = 0;

  /** The lines without their line feeds, as JSON texts, oldest first. A long line is cut and becomes a JSON string. */
  get lines(): readonly string[] {
    return [...this.#lines.slice(this.#at), ...this.#lines.slice(0, this.#at)];
  }

  get dropped(): number {
    return Math.max(0, this.#passed - MAX_LINES);
  }

  add(line: string): void {
    if (!KEPT.some((prefix) => line.startsWith(prefix))) return;
    const kept = line.length > MAX_LINE_CHARS ? JSON.stringify(`${line.slice(0, MAX_LINE_CHARS)}…`) : line.trimEnd();
    if (this.#lines.length < MAX_LINES) this.#lines.push(kept);
    else this.#lines[this.#at] = kept;
    this.#passed += 1;
  }

  get #at(): number {
    return this.#lines.length < MAX_LINES ? 0 : this.#passed % MAX_LINES;
  }
}
