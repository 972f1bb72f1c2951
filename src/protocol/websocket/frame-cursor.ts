import { randomBytes } from 'node:crypto';
import { FrameHead, type FrameSender, OPCODE } from './frame-head.ts';

const OPCODE_BITS = 0x0f;

/** Follows only where frames (RFC 6455 §5.2) of one direction begin and end: cheap enough for every WebSocket. */
export class FrameCursor {
  readonly #head: FrameHead;
  #payloadLeft = 0;
  /** A close frame has passed: nothing may follow it. */
  hasClosed = false;
  /** The bytes are not frames, or too many came: positions are unknown from here on. */
  isLost = false;
  frames = 0;

  constructor(from: FrameSender) {
    this.#head = new FrameHead(from);
  }

  /** The next byte is the first of a frame, so another frame may be inserted before it. */
  get isBetweenFrames(): boolean {
    return this.#head.bytes === 0 && !this.isLost;
  }

  follow(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) at = this.advance(bytes, at);
  }

  /** Follows up to the end of the current frame, or of `bytes`; returns the index after it. */
  advance(bytes: Buffer, from: number): number {
    let at = from;
    while (at < bytes.length && !this.isLost) {
      if (this.#head.isComplete) {
        const step = Math.min(bytes.length - at, this.#payloadLeft);
        this.#payloadLeft -= step;
        at += step;
      } else {
        this.isLost = !this.#head.read(bytes[at] as number);
        this.#payloadLeft = this.#head.payloadBytes;
        at += 1;
      }
      if (this.#head.isComplete && this.#payloadLeft === 0) {
        if (this.#head.opcode === OPCODE.close) this.hasClosed = true;
        this.#head.restart();
        this.frames += 1;
        return at;
      }
    }
    return this.isLost ? bytes.length : at;
  }

  /** Follows up to a close frame's first byte, or to the end of `bytes`; returns the index. */
  advanceToClose(bytes: Buffer): number {
    let at = 0;
    while (at < bytes.length) {
      if (this.isBetweenFrames && ((bytes[at] as number) & OPCODE_BITS) === OPCODE.close) return at;
      at = this.advance(bytes, at);
    }
    return at;
  }
}

const FINAL_CLOSE = 0x88;
const MASK_BIT = 0x80;
const STATUS_BYTES = 2;
const MASK_BYTES = 4;

/** RFC 6455 §7.4.1: an endpoint is going away, such as a server going down. Clients reconnect, unlike after 1000. */
export const GOING_AWAY = 1001;

/** A close frame (RFC 6455 §5.5.1) for a client, e.g. `88 02 03 e9` for 1001. */
export function closeFrame(status: number): Buffer {
  return Buffer.from([FINAL_CLOSE, STATUS_BYTES, status >> 8, status & 0xff]);
}

/** A close frame for an upstream, which accepts only masked frames, each with an unpredictable key (§5.3). */
export function maskedCloseFrame(status: number): Buffer {
  const mask = randomBytes(MASK_BYTES);
  const masked = [status >> 8, status & 0xff].map((byte, i) => byte ^ (mask[i] as number));
  return Buffer.from([FINAL_CLOSE, MASK_BIT | STATUS_BYTES, ...mask, ...masked]);
}
