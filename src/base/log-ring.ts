/** The last warnings and errors of the program's own log, for `d2-sidecar report`: whoever asks for it has not always kept the log. */
const MAX_LINES = 200;
const MAX_LINE_CHARS = 4_096;

/** How a line of the log begins (logger.ts puts the level first). */
const KEPT = ['{"level":"warn"', '{"level":"error"'];

export class LogRing {
  #lines: string[] = [];
  #passed = 0;

  /** JSON texts, oldest first: the lines, without their line feeds; of one that is too long its beginning as a text. */
  get lines(): readonly string[] {
    return [...this.#lines.slice(this.#at), ...this.#lines.slice(0, this.#at)];
  }

  /** Warnings and errors that have been forgotten for later ones. */
  get forgotten(): number {
    return Math.max(0, this.#passed - MAX_LINES);
  }

  /** To be called with every line that is logged. */
  take(line: string): void {
    if (!KEPT.some((lead) => line.startsWith(lead))) return;
    const kept = line.length > MAX_LINE_CHARS ? JSON.stringify(`${line.slice(0, MAX_LINE_CHARS)}…`) : line.trimEnd();
    if (this.#lines.length < MAX_LINES) this.#lines.push(kept);
    else this.#lines[this.#at] = kept;
    this.#passed += 1;
  }

  /** Where the oldest one is, and the next one comes. */
  get #at(): number {
    return this.#lines.length < MAX_LINES ? 0 : this.#passed % MAX_LINES;
  }
}
