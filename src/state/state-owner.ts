import { constants } from 'node:fs';
import { stat } from 'node:fs/promises';
import { openTrusted } from '../base/trusted-file.ts';
import { HEADER_BYTES, type Header, peekHeader } from './state-format.ts';

/** A file by what changes when it is written anew. */
interface Print {
  readonly ino: number;
  readonly mtimeMs: number;
  readonly size: number;
}

/** After so many looks at a file that nobody has touched, the one that wrote it is taken for gone. */
const LOOKS_UNTIL_GONE = 3;

/**
 * Notices when another sidecar writes the same file. There is no lock: after a crash one would be left behind, and the process
 * ids in it mean nothing between containers, where both may be 1. Instead each looks whose file it is about to replace.
 *
 * The one that started later goes on, the other one leaves the file to it: in a rolling restart the old one must not replace
 * what the new one has begun to count.
 */
export class StateOwner {
  readonly #file: string;
  readonly #self: Pick<Header, 'writer' | 'writerStartedMs'>;
  /** The file as it was when it was ours, or looked at last. */
  #known: Print | undefined;
  #unchangedLooks = 0;
  #isForeign = false;

  constructor(file: string, self: Pick<Header, 'writer' | 'writerStartedMs'>) {
    this.#file = file;
    this.#self = self;
  }

  /** The file is as it should be: just read, or just written. */
  async claim(): Promise<void> {
    this.#known = await this.#look();
    this.#isForeign = false;
  }

  /** Whose the file is now: nobody's or this process's (`own`), of one that may be replaced, or of one that may not. */
  async ask(): Promise<'own' | 'replaceable' | 'leave'> {
    const there = await this.#look();
    if (there === undefined) return 'own';
    if (isSame(there, this.#known)) {
      if (!this.#isForeign) return 'own';
      this.#unchangedLooks += 1;
      return this.#unchangedLooks < LOOKS_UNTIL_GONE ? 'leave' : 'replaceable';
    }
    this.#known = there;
    this.#unchangedLooks = 0;
    this.#isForeign = false;
    const header = await this.#header();
    // What is no state file will be replaced by one, as at a start.
    if (header === undefined || header.writer === this.#self.writer) return 'own';
    this.#isForeign = header.writerStartedMs > this.#self.writerStartedMs;
    return this.#isForeign ? 'leave' : 'replaceable';
  }

  async #look(): Promise<Print | undefined> {
    const { ino, mtimeMs, size } = (await stat(this.#file).catch(() => undefined)) ?? {};
    return ino === undefined || mtimeMs === undefined || size === undefined ? undefined : { ino, mtimeMs, size };
  }

  async #header(): Promise<Header | undefined> {
    const opened = await openTrusted(this.#file, constants.O_RDONLY).catch(() => undefined);
    if (opened === undefined) return undefined;
    const { handle } = opened;
    try {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0);
      return peekHeader(buffer.subarray(0, bytesRead));
    } catch {
      // Not readable: the save that follows says so.
      return undefined;
    } finally {
      await handle.close();
    }
  }
}

function isSame(a: Print, b: Print | undefined): boolean {
  return b !== undefined && a.ino === b.ino && a.mtimeMs === b.mtimeMs && a.size === b.size;
}
