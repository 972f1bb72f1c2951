/** Reads the upstream's ledger (upstream/ledger.ts), from the last position. */
import { closeSync, openSync, readSync } from 'node:fs';

/** The upstream's record of one id. */
export interface Seen {
  heads: number;
  complete: number;
  messages: number;
  readonly wrong: string[];
}

const BLOCK_BYTES = 1 << 20;

export class LedgerReader {
  readonly #path: string;
  #offset = 0;
  #rest = '';

  constructor(path: string) {
    this.#path = path;
  }

  /** Adds everything written since the last call to `seen`. */
  readInto(seen: Map<string, Seen>): void {
    const file = openSync(this.#path, 'r');
    const block = Buffer.alloc(BLOCK_BYTES);
    try {
      for (;;) {
        const bytes = readSync(file, block, 0, BLOCK_BYTES, this.#offset);
        if (bytes === 0) return;
        this.#offset += bytes;
        const lines = (this.#rest + block.toString('latin1', 0, bytes)).split('\n');
        this.#rest = lines.pop() ?? '';
        for (const line of lines) noteLine(seen, line);
      }
    } finally {
      closeSync(file);
    }
  }
}

export function noteLine(seen: Map<string, Seen>, line: string): void {
  const [letter, id = '-'] = line.split(' ', 2);
  let of = seen.get(id);
  if (of === undefined) {
    of = { heads: 0, complete: 0, messages: 0, wrong: [] };
    seen.set(id, of);
  }
  if (letter === 'S') of.heads += 1;
  else if (letter === 'E') of.complete += 1;
  else if (letter === 'M') of.messages += 1;
  else of.wrong.push(line.slice(id.length + 3));
}
