import { twinKey } from './forwarded.ts';

/** Removes lines from a trailer section that arrives in any pieces. Holds back no more than the beginning of a name. */
export class TrailerFilter {
  /** Keys as of `twinKey`. */
  readonly #removed: ReadonlySet<string>;
  readonly #maxName: number;
  /** The beginning of a line whose name is not known yet. */
  #held = '';
  #state: 'name' | 'pass' | 'remove' = 'name';

  constructor(removed: ReadonlySet<string>) {
    this.#removed = removed;
    this.#maxName = Math.max(...[...removed].map(({ length }) => length));
  }

  /** `bytes` are of the section, which a `ChunkedReader` has accepted. Returns those to pass on now. */
  filter(bytes: Buffer): Buffer {
    let passed = '';
    for (const character of bytes.toString('latin1')) {
      if (this.#state === 'name') {
        const isKnown = character === ':' || character === '\r' || this.#held.length > this.#maxName;
        if (isKnown && this.#removed.has(twinKey(this.#held))) this.#state = 'remove';
        else if (isKnown) {
          this.#state = 'pass';
          passed += this.#held + character;
        } else this.#held += character;
        continue;
      }
      if (this.#state === 'pass') passed += character;
      if (character === '\n') {
        this.#state = 'name';
        this.#held = '';
      }
    }
    return Buffer.from(passed, 'latin1');
  }
}
