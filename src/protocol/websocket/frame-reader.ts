import { FrameHead, type FrameSender, OPCODE } from './frame-head.ts';

const RSV1 = 0x40;
const MAX_CONTROL_BYTES = 125;

/** Each frame: `onHead`, any number of `onPayload`, `onFrameEnd`. Control frames may come between fragments. */
export interface FrameSink {
  /** `FrameReader.head` describes this frame until its end. */
  onHead(): void;
  /** Payload `bytes[from, to)`, still masked, never empty; the bytes are valid during the call only. */
  onPayload(bytes: Buffer, from: number, to: number): void;
  onFrameEnd(): void;
  /** The bytes are not frames; nothing more is reported. */
  onBroken(): void;
}

/**
 * Finds the frames (RFC 6455 §5.2) of one direction, and holds none of them. These break a direction: reserved bits and
 * opcodes, fragments out of order (§5.4), a frame masked against the rule (§5.1), a control frame that is long or
 * fragmented (§5.5), or a length past 2^53 - 1. Lengths written longer than needed are accepted, as receivers do.
 */
export class FrameReader {
  readonly head: FrameHead;
  readonly #allowsCompressed: boolean;
  readonly #sink: FrameSink;
  /** Bytes of this frame's payload not reported yet, including those of the current `onPayload`. */
  payloadLeft = 0;
  /** True between a first fragment and the last one. */
  #isInMessage = false;
  frames = 0;
  #isStopped = false;

  /** `allowsCompressed`: permessage-deflate was agreed, so RSV1 has a meaning. */
  constructor(options: { readonly from: FrameSender; readonly allowsCompressed: boolean }, sink: FrameSink) {
    this.head = new FrameHead(options.from);
    this.#allowsCompressed = options.allowsCompressed;
    this.#sink = sink;
  }

  /** RSV1: on the first frame of a compressed message only (RFC 7692 §6). */
  get isCompressed(): boolean {
    return this.head.reservedBits === RSV1;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.#isStopped) {
      if (this.head.isComplete) at = this.#readPayload(bytes, at);
      else {
        this.#readHeadByte(bytes[at] as number);
        at += 1;
      }
    }
  }

  /** Reports nothing more, not even from the bytes being read. */
  stop(): void {
    this.#isStopped = true;
  }

  #readPayload(bytes: Buffer, from: number): number {
    const to = Math.min(bytes.length, from + this.payloadLeft);
    this.#sink.onPayload(bytes, from, to);
    this.payloadLeft -= to - from;
    if (this.payloadLeft === 0) this.#endFrame();
    return to;
  }

  #readHeadByte(byte: number): void {
    const { head } = this;
    if (!head.read(byte) || !this.#isAllowed()) {
      this.#isStopped = true;
      this.#sink.onBroken();
    } else if (head.isComplete) this.#endHead();
  }

  /** Whether the first two bytes are valid on this connection after the earlier frames. */
  #isAllowed(): boolean {
    if (this.head.bytes === 1) return this.#isInOrder();
    if (this.head.bytes > 2 || !this.head.isControl) return true;
    const { opcode, shortLength } = this.head;
    // A close frame has a status of two bytes or no payload (§5.5.1).
    return shortLength <= MAX_CONTROL_BYTES && !(opcode === OPCODE.close && shortLength === 1);
  }

  #isInOrder(): boolean {
    const { opcode, reservedBits, isControl } = this.head;
    if (opcode === OPCODE.continuation || isControl) {
      return reservedBits === 0 && (isControl || this.#isInMessage);
    }
    return !this.#isInMessage && (reservedBits === 0 || (this.isCompressed && this.#allowsCompressed));
  }

  #endHead(): void {
    const { isControl, isFinal, payloadBytes } = this.head;
    if (!isControl) this.#isInMessage = !isFinal;
    this.payloadLeft = payloadBytes;
    this.frames += 1;
    this.#sink.onHead();
    if (payloadBytes === 0) this.#endFrame();
  }

  #endFrame(): void {
    if (this.#isStopped) return;
    this.head.restart();
    this.#sink.onFrameEnd();
  }
}
