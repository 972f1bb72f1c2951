/**
 * The upstream's record, a line for each event, written at once: it survives a kill in the next moment.
 *
 * | Line | Meaning |
 * |---|---|
 * | `S r17` | the head of call r17 has arrived |
 * | `E r17` | and its body, complete and correct |
 * | `M s17 3` | message 3 of WebSocket s17 has arrived, complete and correct |
 * | `W r17 byte 3 is ...` | something about it is wrong |
 */
import { openSync, readFileSync, writeSync } from 'node:fs';

export class Ledger {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  note(letter: 'S' | 'E' | 'M' | 'W', id: string, what = ''): void {
    writeSync(this.#file, `${letter} ${id} ${printable(what)}`.trimEnd().concat('\n'));
  }
}

/** What is wrong with some bytes, as a line of ASCII. */
export function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 500);
}

export interface Seen {
  heads: number;
  complete: number;
  messages: number;
  readonly wrong: string[];
}

/** Reads a ledger, from its last position. */
export class LedgerReader {
  readonly #path: string;
  #offset = 0;

  constructor(path: string) {
    this.#path = path;
  }

  readInto(seen: Map<string, Seen>): void {
    const bytes = readFileSync(this.#path).subarray(this.#offset);
    const end = bytes.lastIndexOf('\n') + 1;
    for (const line of bytes.toString('latin1', 0, end).split('\n').slice(0, -1)) noteLine(seen, line);
    this.#offset += end;
  }
}

function noteLine(seen: Map<string, Seen>, line: string): void {
  const [letter, id = '-'] = line.split(' ', 2);
  const of = seen.get(id) ?? { heads: 0, complete: 0, messages: 0, wrong: [] };
  seen.set(id, of);
  if (letter === 'S') of.heads += 1;
  else if (letter === 'E') of.complete += 1;
  else if (letter === 'M') of.messages += 1;
  else of.wrong.push(line.slice(id.length + 3));
}
