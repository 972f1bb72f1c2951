/** RFC 6455 §5.2. */
export const OPCODE = { continuation: 0x0, text: 0x1, binary: 0x2, close: 0x8, pong: 0xa } as const;

const FIN = 0x80;
const RSV1 = 0x40;
const RSV2_AND_3 = 0x30;
const MASK_BIT = 0x80;
const LENGTH_BITS = 0x7f;
const LENGTH_OF_2_BYTES = 126;
const LENGTH_OF_8_BYTES = 127;
const MAX_CONTROL_BYTES = 125;

/** Each frame: `onHead`, any number of `onPayload`, `onFrameEnd`. Control frames may come between fragments. */
export interface FrameSink {
  /** The fields of `frame` describe this head until the frame's end. */
  onHead(frame: FrameReader): void;
  /** Payload `bytes[from, to)`, still masked, never empty; the bytes are valid during the call only. */
  onPayload(bytes: Buffer, from: number, to: number): void;
  onFrameEnd(): void;
  /** The bytes are no frames; nothing more is reported. */
  onBroken(): void;
}

type Step = 'first-byte' | 'second-byte' | 'long-length' | 'mask' | 'payload' | 'stopped';

/**
 * Finds the frames (RFC 6455 §5.2) of one direction in bytes that arrive in any pieces, and holds none of them. These
 * break a direction: reserved bits and opcodes, fragments out of order (§5.4), a frame masked against the rule (§5.1),
 * a control frame that is long or fragmented (§5.5), or a length past 2^53 - 1. Lengths written longer than needed are
 * accepted, as receivers do.
 */
export class FrameReader {
  readonly #isMasked: boolean;
  readonly #allowsCompressed: boolean;
  readonly #sink: FrameSink;
  #step: Step = 'first-byte';
  #opcode = 0;
  #isFinal = false;
  #isCompressed = false;
  #payloadBytes = 0;
  #mask = 0;
  /** Bytes of the current step that are still to come. */
  #left = 0;
  /** True between a first fragment and the last one. */
  #isInMessage = false;
  #frames = 0;

  /** `allowsCompressed`: permessage-deflate was agreed, so RSV1 has a meaning. */
  constructor(options: { readonly isMasked: boolean; readonly allowsCompressed: boolean }, sink: FrameSink) {
    this.#isMasked = options.isMasked;
    this.#allowsCompressed = options.allowsCompressed;
    this.#sink = sink;
  }

  /** Frames whose head has arrived. */
  get frames(): number {
    return this.#frames;
  }

  get opcode(): number {
    return this.#opcode;
  }

  get isFinal(): boolean {
    return this.#isFinal;
  }

  /** RSV1: on the first frame of a compressed message only (RFC 7692 §6). */
  get isCompressed(): boolean {
    return this.#isCompressed;
  }

  get payloadBytes(): number {
    return this.#payloadBytes;
  }

  /** The masking key, its first byte in the highest position; 0 if nothing is masked. */
  get mask(): number {
    return this.#mask;
  }

  /** Bytes of this frame's payload not reported yet, including those of the current `onPayload`. */
  get payloadLeft(): number {
    return this.#left;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && this.#step !== 'stopped') {
      if (this.#step === 'payload') at = this.#readPayload(bytes, at);
      else {
        this.#readHeadByte(bytes[at] as number);
        at += 1;
      }
    }
  }

  /** Reports nothing more, not even from the bytes being read. */
  stop(): void {
    this.#step = 'stopped';
  }

  #readPayload(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.#left);
    this.#sink.onPayload(bytes, from, to);
    this.#left -= to - from;
    if (this.#left === 0) this.#endFrame();
    return to;
  }

  #readHeadByte(byte: number): void {
    switch (this.#step) {
      case 'first-byte':
        this.#readFirstByte(byte);
        return;
      case 'second-byte':
        this.#readSecondByte(byte);
        return;
      case 'long-length':
        // A length past 2^53 is rounded, but never below 2^53.
        this.#payloadBytes = this.#payloadBytes * 256 + byte;
        this.#left -= 1;
        if (this.#left === 0) this.#endLength();
        return;
      default:
        this.#mask = (this.#mask << 8) | byte;
        this.#left -= 1;
        if (this.#left === 0) this.#endHead();
    }
  }

  #readFirstByte(byte: number): void {
    this.#isFinal = (byte & FIN) !== 0;
    this.#isCompressed = (byte & RSV1) !== 0;
    this.#opcode = byte & 0x0f;
    if ((byte & RSV2_AND_3) !== 0 || !this.#isOpcodeInOrder()) this.#break();
    else this.#step = 'second-byte';
  }

  #isOpcodeInOrder(): boolean {
    switch (this.#opcode) {
      case OPCODE.continuation:
        return this.#isInMessage && !this.#isCompressed;
      case OPCODE.text:
      case OPCODE.binary:
        return !this.#isInMessage && (this.#allowsCompressed || !this.#isCompressed);
      default:
        return this.isControl && this.#opcode <= OPCODE.pong && this.#isFinal && !this.#isCompressed;
    }
  }

  get isControl(): boolean {
    return this.#opcode >= OPCODE.close;
  }

  #readSecondByte(byte: number): void {
    const length = byte & LENGTH_BITS;
    if (((byte & MASK_BIT) !== 0) !== this.#isMasked) this.#break();
    else if (this.isControl && length > MAX_CONTROL_BYTES) this.#break();
    // A close frame has a status of two bytes or no payload (§5.5.1).
    else if (this.#opcode === OPCODE.close && length === 1) this.#break();
    else if (length === LENGTH_OF_2_BYTES) this.#expectLength(2);
    else if (length === LENGTH_OF_8_BYTES) this.#expectLength(8);
    else {
      this.#payloadBytes = length;
      this.#endLength();
    }
  }

  #expectLength(bytes: number): void {
    this.#payloadBytes = 0;
    this.#left = bytes;
    this.#step = 'long-length';
  }

  #endLength(): void {
    this.#mask = 0;
    if (this.#payloadBytes > Number.MAX_SAFE_INTEGER) this.#break();
    else if (this.#isMasked) {
      this.#left = 4;
      this.#step = 'mask';
    } else this.#endHead();
  }

  #endHead(): void {
    if (!this.isControl) this.#isInMessage = !this.#isFinal;
    this.#left = this.#payloadBytes;
    this.#step = 'payload';
    this.#frames += 1;
    this.#sink.onHead(this);
    if (this.#left === 0) this.#endFrame();
  }

  #endFrame(): void {
    if (this.#step === 'stopped') return;
    this.#step = 'first-byte';
    this.#sink.onFrameEnd();
  }

  #break(): void {
    this.#step = 'stopped';
    this.#sink.onBroken();
  }
}
