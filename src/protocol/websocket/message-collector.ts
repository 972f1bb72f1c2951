import { KeptBytes } from '../../limits/kept-bytes.ts';
import type { Unfinished, UnfinishedBodies } from '../../limits/unfinished-bodies.ts';
import { copyUnmasked } from './unmask.ts';

/** Collects the payload of one message that comes in several pieces, unmasked. */
export class MessageCollector {
  readonly #kept: KeptBytes;

  /** Parameters as for `KeptBytes`. */
  constructor(maxBytes: number, bodies: UnfinishedBodies, owner: Unfinished) {
    this.#kept = new KeptBytes(maxBytes, bodies, owner);
  }

  get heldBytes(): number {
    return this.#kept.heldBytes;
  }

  /** `payloadLeft` bytes of the frame are still to come, including these. `false` without memory for them. */
  append(
    source: Buffer,
    range: { readonly from: number; readonly to: number },
    frame: { readonly mask: number; readonly payloadBytes: number; readonly payloadLeft: number },
  ): boolean {
    const target = this.#kept.extend(range.to - range.from, frame.payloadLeft);
    if (target === undefined) return false;
    if (frame.mask === 0) source.copy(target, 0, range.from, range.to);
    else copyUnmasked(source, range, target, 0, frame.mask, frame.payloadBytes - frame.payloadLeft);
    return true;
  }

  /** The payload so far; valid until `release` or the next `append`. */
  view(): Buffer {
    return this.#kept.view();
  }

  release(): void {
    this.#kept.release();
  }
}
