/** This folder reads WebSocket messages out of passing bytes, which it neither changes nor keeps. No sockets here. */
import { isUtf8 } from 'node:buffer';
import type { MemoryBudget } from '../../limits/memory-budget.ts';
import type { ReadingTask } from '../../limits/reading-share.ts';
import { type EvictableBodies, KeptBytes, type Unfinished } from '../../limits/unfinished-bodies.ts';
import type { DeflateParameters } from './extensions.ts';
import { copyUnmasked, FrameHead, type FrameSender, OPCODE } from './frame-head.ts';
import { DirectionRate, type FrameRate } from './frame-rate.ts';
import { MessageInflater } from './message-inflater.ts';
import { type FurtherSteps, MessageReading, type WholeMessage } from './message-reading.ts';

/**
 * Why something passed unread. `too-large`: the message on the wire. `malformed`: it does not inflate, or the
 * direction's bytes are not frames. `text`: no UTF-8. `budget`, `time`: not enough of it. `extension`: one was agreed
 * that cannot be read; for callers only.
 */
export type UnreadReason = 'too-large' | 'inflated-too-large' | 'malformed' | 'extension' | 'budget' | 'time' | 'text';

/** Receives the messages of one direction, in order: during `push`, or later if `read` defers them. */
export interface MessageHandler {
  /** `atNs`: when the message's last byte passed. The result is called for further steps until it returns false. */
  onText(text: string, atNs: number): FurtherSteps | undefined;
  onBinary?(): void;
  /** A close frame; nothing follows it. */
  onClose?(): void;
  /** A message was not read; with `isUnread`, neither are any later ones. */
  onUnread(reason: UnreadReason): void;
}

export interface MessageReaderOptions {
  readonly from: FrameSender;
  /** Limit of a message as sent, all its fragments together. */
  readonly maxMessageBytes: number;
  readonly maxInflatedBytes: number;
  /** `undefined` if permessage-deflate was not agreed. */
  readonly deflate: DeflateParameters | undefined;
  readonly budget: MemoryBudget;
  /** Holds messages that have arrived in part. */
  readonly bodies: EvictableBodies;
  /** Runs the steps of a reading, now or later. */
  readonly read: (reading: ReadingTask, nowNs: number) => void;
  readonly nowNs: () => number;
  /** Shared by all WebSockets. */
  readonly frameRate: FrameRate;
  /** Whether one more message can wait, if it has to. */
  readonly hasRoom: () => boolean;
}

const MAX_CONTROL_BYTES = 125;
const MAX_UNCOUNTED_FRAMES = 1_000;
/** No Bayeux connection sends thousands of frames with fewer bytes than this on average. */
const MIN_FRAME_BYTES = 24;

/**
 * Reads the messages (RFC 6455 §5.4, RFC 7692) of one direction as their bytes pass. A message that is not UTF-8 or too
 * large is lost alone. Two failures leave the direction unread for good: a broken frame, and with context takeover a
 * compressed message that was not inflated. A handler's exception passes through `push`; after it only `close` may be
 * called.
 *
 * These break a frame: reserved bits and opcodes, fragments out of order (§5.4), a mask against the rule (§5.1), a
 * control frame that is long or fragmented (§5.5), or a length past 2^53 - 1. Control frames may come between fragments.
 * Lengths written longer than needed are accepted, as receivers do.
 */
export class WebSocketMessageReader implements Unfinished {
  readonly #options: MessageReaderOptions;
  readonly #handler: MessageHandler;
  readonly #head: FrameHead;
  /** Bytes of this frame's payload not read yet. */
  #payloadLeft = 0;
  /** True between a first fragment and the last one. */
  #isInMessage = false;
  #frames = 0;
  /** The payload so far of a message that comes in several pieces, unmasked. */
  readonly #kept: KeptBytes;
  readonly #inflater: MessageInflater | undefined;
  /** With context takeover every compressed message is inflated: later ones may refer back to it. */
  readonly #hasContext: boolean;
  /** The current message's. `count`: a binary one is only counted. `reported` and `lost`: its rest is ignored. */
  #fate: 'read' | 'count' | 'reported' | 'lost' = 'reported';
  #isText = false;
  #isCompressed = false;
  /** Payload of the current message's frames so far, by their heads. */
  #messageBytes = 0;
  #isOver = false;
  /** A failure has left this direction unread for good. */
  isUnread = false;
  #waiting = 0;
  readonly #rate = new DirectionRate();
  #countedFrames = 0;
  /** Number of bytes in the current `push`, and of frames before it. */
  #pushedBytes = 0;
  #framesBefore = 0;

  constructor(options: MessageReaderOptions, handler: MessageHandler) {
    const { deflate, budget } = options;
    this.#head = new FrameHead(options.from);
    this.#options = options;
    this.#handler = handler;
    this.#kept = new KeptBytes(options.maxMessageBytes, options.bodies, this);
    this.#hasContext = deflate?.contextTakeover === true;
    this.#inflater = deflate && new MessageInflater(deflate, options.maxInflatedBytes, budget);
  }

  /** Memory held between two calls of `push`: an unfinished message and the window. All of it is in the budget. */
  get heldBytes(): number {
    return this.#kept.heldBytes + (this.#inflater?.heldBytes ?? 0);
  }

  /** Reads the next bytes of this direction, in any pieces. The bytes are used only during the call. */
  push(bytes: Buffer): void {
    const head = this.#head;
    this.#pushedBytes = bytes.length;
    this.#framesBefore = this.#frames;
    let at = 0;
    while (at < bytes.length && !this.#isOver) {
      if (head.isComplete) {
        const to = Math.min(bytes.length, at + this.#payloadLeft);
        this.#readPayload(bytes, at, to);
        this.#payloadLeft -= to - at;
        if (this.#payloadLeft === 0) this.#endFrame();
        at = to;
        continue;
      }
      if (!head.read(bytes[at] as number) || !this.#isAllowed()) this.#giveUp('malformed');
      else if (head.isComplete) this.#endHead();
      at += 1;
    }
    if (!this.#isOver) this.#countFrames();
  }

  /** Whether the first two bytes are valid on this connection after the earlier frames. */
  #isAllowed(): boolean {
    const { bytes, opcode, shortLength, reservedBits, isControl, isCompressed } = this.#head;
    if (bytes === 2 && isControl) {
      // A close frame has a status of two bytes or no payload (§5.5.1).
      return shortLength <= MAX_CONTROL_BYTES && !(opcode === OPCODE.close && shortLength === 1);
    }
    if (bytes > 1) return true;
    if (opcode === OPCODE.continuation || isControl) return reservedBits === 0 && (isControl || this.#isInMessage);
    // Without permessage-deflate RSV1 has no meaning.
    return !this.#isInMessage && (reservedBits === 0 || (isCompressed && this.#inflater !== undefined));
  }

  #countFrames(): void {
    const frames = this.#frames;
    const pushed = frames - this.#framesBefore;
    const added = frames - this.#countedFrames;
    this.#countedFrames = frames;
    const areTiny = pushed > MAX_UNCOUNTED_FRAMES && pushed * MIN_FRAME_BYTES > this.#pushedBytes;
    if (this.#options.frameRate.isTooFast(this.#rate, added) || areTiny) this.#giveUp('time');
  }

  /** Takes no more bytes. Releases its memory once the messages that wait have been read. May be called any time. */
  close(): void {
    this.#isOver = true;
    this.#kept.release();
    if (this.#waiting === 0) this.#inflater?.release();
  }

  /** Gives up the current message, because its memory is needed for others. */
  giveUp(): void {
    this.#lose('budget');
  }

  #endHead(): void {
    const { opcode, payloadBytes, isControl, isFinal, isCompressed } = this.#head;
    this.#payloadLeft = payloadBytes;
    this.#frames += 1;
    // A single read may hold thousands of frames.
    if (this.#frames - this.#countedFrames >= MAX_UNCOUNTED_FRAMES) this.#countFrames();
    if (this.#isOver) return;
    if (!isControl) {
      this.#isInMessage = !isFinal;
      if (opcode !== OPCODE.continuation) {
        this.#isText = opcode === OPCODE.text;
        this.#isCompressed = isCompressed;
        this.#messageBytes = 0;
        this.#fate = this.#isText || (isCompressed && this.#hasContext) ? 'read' : 'count';
      }
      this.#messageBytes += payloadBytes;
      if (this.#fate === 'read' && this.#messageBytes > this.#options.maxMessageBytes) this.#lose('too-large');
    }
    if (payloadBytes === 0) this.#endFrame();
  }

  #readPayload(bytes: Buffer, from: number, to: number): void {
    const { isControl, isFinal, mask, payloadBytes } = this.#head;
    if (this.#fate !== 'read' || isControl) return;
    if (!isFinal || to - from !== this.#messageBytes) {
      const target = this.#kept.extend(to - from, this.#payloadLeft);
      if (target === undefined) this.#lose('budget');
      else copyUnmasked(bytes, { from, to }, target, mask, payloadBytes - this.#payloadLeft);
    } else if (this.#options.hasRoom()) {
      this.#fate = 'reported';
      const payload = mask === 0 ? bytes.subarray(from, to) : Buffer.allocUnsafe(to - from);
      if (mask !== 0) copyUnmasked(bytes, { from, to }, payload, mask, 0);
      this.#report(payload);
    } else this.#lose('time');
  }

  #endFrame(): void {
    if (this.#isOver) return;
    this.#head.restart();
    const { opcode, isFinal, isControl } = this.#head;
    if (opcode === OPCODE.close) {
      this.close();
      this.#handler.onClose?.();
    }
    if (!isFinal || isControl) return;
    if (this.#fate === 'count') this.#handler.onBinary?.();
    if (this.#fate !== 'read') return;
    this.#fate = 'reported';
    this.#report(this.#kept.view());
    this.#kept.release();
  }

  #report(payload: Buffer): void {
    const { budget, nowNs, read } = this.#options;
    const atNs = nowNs();
    const message = { payload, isText: this.#isText, isCompressed: this.#isCompressed, atNs };
    this.#waiting += 1;
    read(new MessageReading(message, this, budget), atNs);
  }

  /** For `MessageReading`, as are the next two. */
  readContent({ payload, isText, isCompressed, atNs }: WholeMessage): FurtherSteps | undefined {
    if (this.isUnread) return undefined;
    const content = isCompressed ? this.#inflater?.inflate(payload) : payload;
    if (content === undefined || typeof content === 'string') {
      this.#passUnread(content ?? 'malformed', isCompressed);
      return undefined;
    }
    let further: FurtherSteps | undefined;
    if (!isText) this.#handler.onBinary?.();
    else if (isUtf8(content)) further = this.#handler.onText(content.toString('utf8'), atNs);
    else this.#handler.onUnread('text');
    const brokenBy = this.#inflater?.brokenBy;
    // No later message can be inflated. After the end, that matters only to messages that wait.
    if (brokenBy !== undefined && (!this.#isOver || this.#waiting > 1)) this.#giveUp(brokenBy);
    return further;
  }

  passUnread(isContentLost: boolean): void {
    if (!this.isUnread) this.#passUnread('time', isContentLost);
  }

  messageEnded(): void {
    this.#waiting -= 1;
    if (this.#isOver && this.#waiting === 0) this.#inflater?.release();
  }

  #passUnread(reason: UnreadReason, isCompressed: boolean): void {
    if (isCompressed && this.#hasContext) this.#giveUp(reason);
    else this.#handler.onUnread(reason);
  }

  #lose(reason: UnreadReason): void {
    this.#fate = 'lost';
    this.#kept.release();
    this.#passUnread(reason, this.#isCompressed);
  }

  #giveUp(reason: UnreadReason): void {
    this.isUnread = true;
    this.close();
    this.#handler.onUnread(reason);
  }
}
