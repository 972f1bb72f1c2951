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

export type Ledger = ReturnType<typeof openLedger>;

export function openLedger(path: string) {
  const file = openSync(path, 'a');
  return {
    note: (letter: 'S' | 'E' | 'M' | 'W', id: string, what = ''): void =>
      void writeSync(file, `${letter} ${id} ${printable(what)}`.trimEnd().concat('\n')),
  };
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

/** Reads a ledger from a position on; returns the next one. */
export function readLedger(path: string, offset: number, seen: Map<string, Seen>): number {
  const bytes = readFileSync(path).subarray(offset);
  const end = bytes.lastIndexOf('\n') + 1;
  for (const line of bytes.toString('latin1', 0, end).split('\n').slice(0, -1)) noteLine(seen, line);
  return offset + end;
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
