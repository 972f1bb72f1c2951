import { OPCODE } from './frame-reader.ts';

const FINAL = 0x80;
const OPCODE_BITS = 0x0f;
const MASK_BIT = 0x80;
const LENGTH_BITS = 0x7f;
const LENGTH_OF_2_BYTES = 126;
const LENGTH_OF_8_BYTES = 127;
const MASK_BYTES = 4;

const PING = 0x9;

/** RFC 6455 §5.2: the other opcodes are reserved. */
const KNOWN_OPCODES: ReadonlySet<number> = new Set([...Object.values(OPCODE), PING]);

/**
 * Knows only where frames (RFC 6455 §5.2) begin and end in one direction of a tunnel. This is cheap enough to run for
 * every WebSocket, in case the sidecar must insert a frame of its own.
 */
export class FrameCursor {
  readonly #maskBit: number;
  /** Bytes of the current head that have been read. */
  #headBytes = 0;
  #lengthBytesLeft = 0;
  #maskBytesLeft = 0;
  #payloadLeft = 0;
  #opcode = 0;
  #hasClosed = false;
  #isLost = false;
  #frames = 0;

  /** `from`: clients mask what they send, upstreams must not (§5.1). */
  constructor(from: 'client' | 'upstream') {
    this.#maskBit = from === 'client' ? MASK_BIT : 0;
  }

  /** The next byte is the first of a frame, so another frame may be inserted before it. */
  get isBetweenFrames(): boolean {
    return this.#headBytes === 0 && !this.#isLost;
  }

  /** The bytes are no frames, or too many came: positions are unknown from here on. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** Frames that have passed completely. */
  get frames(): number {
    return this.#frames;
  }

  /** Stops following. */
  lose(): void {
    this.#isLost = true;
  }

  /** A close frame has passed: nothing may follow it. */
  get hasClosed(): boolean {
    return this.#hasClosed;
  }

  follow(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at = this.advance(bytes, at);
  }

  /** Follows up to the end of the current frame, or of `bytes`; returns the index after it. */
  advance(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && !this.#isLost) {
      if (this.#isInHead()) {
        this.#readHeadByte(bytes[at] as number);
        at += 1;
      } else {
        const step = Math.min(bytes.length - at, this.#payloadLeft);
        this.#payloadLeft -= step;
        at += step;
      }
      if (!this.#isInHead() && this.#payloadLeft === 0) {
        this.#endFrame();
        return at;
      }
    }
    return this.#isLost ? bytes.length : at;
  }

  /**
   * Follows up to a close frame's first byte, or to the end of `bytes`. Returns the index; if it is less than the
   * length, a close frame starts there.
   */
  advanceToClose(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length) {
      if (this.isBetweenFrames && ((bytes[at] as number) & OPCODE_BITS) === OPCODE.close) return at;
      at = this.advance(bytes, at);
    }
    return at;
  }

  #isInHead(): boolean {
    return this.#headBytes < 2 || this.#lengthBytesLeft > 0 || this.#maskBytesLeft > 0;
  }

  #readHeadByte(byte: number): void {
    this.#headBytes += 1;
    if (this.#headBytes === 1) {
      this.#opcode = byte & OPCODE_BITS;
      // Control frames are never fragmented (§5.5).
      const isBroken = this.#opcode >= OPCODE.close && (byte & FINAL) === 0;
      if (isBroken || !KNOWN_OPCODES.has(this.#opcode)) this.#isLost = true;
    } else if (this.#headBytes === 2) {
      this.#readLength(byte);
    } else if (this.#lengthBytesLeft > 0) {
      this.#lengthBytesLeft -= 1;
      this.#payloadLeft = this.#payloadLeft * 256 + byte;
      // A length past 2^53 would be rounded, and so would the end of the frame.
      if (this.#payloadLeft > Number.MAX_SAFE_INTEGER) this.#isLost = true;
    } else {
      this.#maskBytesLeft -= 1;
    }
  }

  #readLength(byte: number): void {
    const length = byte & LENGTH_BITS;
    if ((byte & MASK_BIT) !== this.#maskBit) this.#isLost = true;
    this.#maskBytesLeft = this.#maskBit === 0 ? 0 : MASK_BYTES;
    this.#payloadLeft = length;
    if (length < LENGTH_OF_2_BYTES) return;
    this.#lengthBytesLeft = length === LENGTH_OF_8_BYTES ? 8 : 2;
    this.#payloadLeft = 0;
  }

  #endFrame(): void {
    if (this.#opcode === OPCODE.close) this.#hasClosed = true;
    this.#headBytes = 0;
    this.#frames += 1;
  }
}
