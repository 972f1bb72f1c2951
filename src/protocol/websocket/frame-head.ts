/** RFC 6455 §5.2. The other opcodes are reserved. */
export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, ping: 0x9, pong: 0xa } as const;

const KNOWN_OPCODES: ReadonlySet<number> = new Set(Object.values(OPCODE));

const FIN = 0x80;
const OPCODE_BITS = 0x0f;
const MASK_BIT = 0x80;
const LENGTH_BITS = 0x7f;
const LENGTH_OF_2_BYTES = 126;
const LENGTH_OF_8_BYTES = 127;
const MASK_BYTES = 4;
const RSV1 = 0x40;

/** Clients mask their frames; upstreams must not (RFC 6455 §5.1). */
export type FrameSender = 'client' | 'upstream';

/** Reads the head of one frame after another (RFC 6455 §5.2), byte by byte. */
export class FrameHead {
  readonly #maskBit: number;
  bytes = 0;
  /** Offsets at which the length ends and the head ends. The second byte determines both. */
  #lengthEnd = 2;
  #end = 2;
  isFinal = false;
  /** RSV1 to RSV3, as in the first byte. */
  reservedBits = 0;
  opcode = 0;
  /** The length as in the second byte: 126 and 127 stand for longer forms. */
  shortLength = 0;
  payloadBytes = 0;
  /** The masking key, its first byte in the highest position; 0 if nothing is masked. */
  mask = 0;

  constructor(from: FrameSender) {
    this.#maskBit = from === 'client' ? MASK_BIT : 0;
  }

  get isComplete(): boolean {
    return this.bytes >= 2 && this.bytes === this.#end;
  }

  get isControl(): boolean {
    return this.opcode >= OPCODE.close;
  }

  /** RSV1: on the first frame of a compressed message only (RFC 7692 §6). */
  get isCompressed(): boolean {
    return this.reservedBits === RSV1;
  }

  restart(): void {
    this.bytes = 0;
  }

  /** False if no frame of this sender has such a head. */
  read(byte: number): boolean {
    this.bytes += 1;
    if (this.bytes === 1) {
      this.isFinal = (byte & FIN) !== 0;
      this.reservedBits = byte & ~(FIN | OPCODE_BITS);
      this.opcode = byte & OPCODE_BITS;
      this.mask = 0;
      // Control frames are never fragmented (§5.5).
      return KNOWN_OPCODES.has(this.opcode) && (this.isFinal || !this.isControl);
    }
    if (this.bytes === 2) {
      this.shortLength = byte & LENGTH_BITS;
      const longBytes = this.shortLength === LENGTH_OF_8_BYTES ? 8 : this.shortLength === LENGTH_OF_2_BYTES ? 2 : 0;
      this.payloadBytes = longBytes === 0 ? this.shortLength : 0;
      this.#lengthEnd = 2 + longBytes;
      this.#end = this.#lengthEnd + (this.#maskBit === 0 ? 0 : MASK_BYTES);
      return (byte & MASK_BIT) === this.#maskBit;
    }
    if (this.bytes <= this.#lengthEnd) {
      this.payloadBytes = this.payloadBytes * 256 + byte;
      // A longer length would be rounded, and so would the end of the frame.
      return this.payloadBytes <= Number.MAX_SAFE_INTEGER;
    }
    this.mask = (this.mask << 8) | byte;
    return true;
  }
}

/**
 * Copies `source[from, to)` to the beginning of `target` without the masking of RFC 6455 §5.3. `mask`: the key as one
 * number, its first byte highest, 0 for none. `phase`: payload bytes of the frame before `from`.
 */
export function copyUnmasked(
  source: Buffer,
  { from, to }: { readonly from: number; readonly to: number },
  target: Buffer,
  mask: number,
  phase: number,
): void {
  if (mask === 0) {
    source.copy(target, 0, from, to);
    return;
  }
  for (let i = 0; i < to - from; i += 1) {
    target[i] = (source[from + i] as number) ^ (mask >>> (24 - 8 * ((phase + i) & 3)));
  }
}
