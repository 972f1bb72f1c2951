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
import { openSync, writeSync } from 'node:fs';

export interface Ledger {
  seen(id: string): void;
  complete(id: string): void;
  message(id: string, at: number): void;
  wrong(id: string, what: string): void;
}

export class FileLedger implements Ledger {
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  seen(id: string): void {
    writeSync(this.#file, `S ${id}\n`);
  }

  complete(id: string): void {
    writeSync(this.#file, `E ${id}\n`);
  }

  message(id: string, at: number): void {
    writeSync(this.#file, `M ${id} ${at}\n`);
  }

  wrong(id: string, what: string): void {
    writeSync(this.#file, `W ${id} ${what.replaceAll(/[^\x20-\x7e]+/g, ' ').slice(0, 500)}\n`);
  }
}
