import { stat } from 'node:fs/promises';
import { type Header, parseHeader, readLines } from './state-file.ts';

/** After this many checks of an unchanged file its writer is considered gone. */
const LOOKS_UNTIL_GONE = 3;

/**
 * Notices when another sidecar writes the same file. A lock would survive a crash, and the process ids in it mean
 * nothing between containers, where both may be 1. Instead each sidecar checks whose file it is about to replace.
 *
 * The sidecar that started later keeps the file. In a rolling restart the old one must not overwrite what the new one
 * has begun to count.
 */
export class StateOwner {
  readonly #file: string;
  readonly #self: Pick<Header, 'writer' | 'writerStartedMs'>;
  /** The file as it was when this process owned it or last checked it. */
  #known: string | undefined;
  #unchangedLooks = 0;
  #isForeign = false;

  constructor(file: string, self: Pick<Header, 'writer' | 'writerStartedMs'>) {
    this.#file = file;
    this.#self = self;
  }

  /** Takes ownership of the file just read or just written. */
  async claim(): Promise<void> {
    this.#known = await this.#look();
    this.#isForeign = false;
  }

  /**
   * `own`: absent, no state file, or ours. `replaceable`: of a sidecar that started earlier or is gone. `leave`: of one
   * that started later.
   */
  async ask(): Promise<'own' | 'replaceable' | 'leave'> {
    const there = await this.#look();
    if (there === undefined) return 'own';
    if (there === this.#known) {
      if (!this.#isForeign) return 'own';
      this.#unchangedLooks += 1;
      return this.#unchangedLooks < LOOKS_UNTIL_GONE ? 'leave' : 'replaceable';
    }
    this.#known = there;
    this.#unchangedLooks = 0;
    this.#isForeign = false;
    const header = await this.#header();
    // As at a start, a file that is not a state file is replaced.
    if (header === undefined || header.writer === this.#self.writer) return 'own';
    this.#isForeign = header.writerStartedMs > this.#self.writerStartedMs;
    return this.#isForeign ? 'leave' : 'replaceable';
  }

  /** The properties of the file that change when it is rewritten. */
  async #look(): Promise<string | undefined> {
    const there = await stat(this.#file).catch(() => undefined);
    return there && `${there.ino} ${there.mtimeMs} ${there.size}`;
  }

  async #header(): Promise<Header | undefined> {
    try {
      for await (const line of readLines(this.#file)) return parseHeader(line);
    } catch {
      // Unreadable: the save that follows reports it.
    }
    return undefined;
  }
}
