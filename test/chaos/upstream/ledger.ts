/**
 * What the upstream has seen, a line each, written at once: a process that is killed in the next moment has still said it.
 *
 * | Line | Meaning |
 * |---|---|
 * | `S r17` | the head of call r17 has come |
 * | `E r17` | and its body, whole and right |
 * | `M s17 3` | message 3 of WebSocket s17 has come, whole and right |
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
