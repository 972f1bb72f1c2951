/**
 * The room that reads WebSocket messages and coded bodies out of bytes that pass: bytes in, messages out. It knows neither
 * sockets nor what the messages mean, alters nothing and keeps none of the bytes that it is shown.
 */
import { isUtf8 } from 'node:buffer';
import type { DeflateParameters } from './extensions.ts';
import { FrameReader, OPCODE } from './frame-reader.ts';
import type { MemoryBudget } from './memory-budget.ts';
import { MessageCollector } from './message-collector.ts';
import { MessageInflater } from './message-inflater.ts';
import { copyUnmasked } from './unmask.ts';

/**
 * Why something passed unread. `too-large`: the message on the wire; `inflated-too-large`: what comes out of it; `malformed`: it
 * does not inflate, or the direction holds no frames; `text`: a text message that is no UTF-8; `budget`: no memory for it;
 * `extension` is for callers whose connection agreed on an extension that cannot be read, the reader never says it.
 */
export type UnreadReason = 'too-large' | 'inflated-too-large' | 'malformed' | 'extension' | 'budget' | 'text';

/** Told what one direction says, during `push` and in order. */
export interface MessageHandler {
  onText(text: string): void;
  /** A binary message has passed; it was not read. */
  onBinary?(): void;
  /** A close frame; nothing comes after it. */
  onClose?(): void;
  /** One message, or with `isUnread` all that follow too. */
  onUnread(reason: UnreadReason): void;
}

export interface MessageReaderOptions {
  /** Clients mask what they send, upstreams must not (RFC 6455 §5.1). */
  readonly from: 'client' | 'upstream';
  /** Of a message as sent, all its fragments together. */
  readonly maxMessageBytes: number;
  /** Of a compressed message's content. */
  readonly maxInflatedBytes: number;
  /** `undefined` where permessage-deflate was not agreed. */
  readonly deflate: DeflateParameters | undefined;
  readonly budget: MemoryBudget;
}

/** What becomes of the message at hand: `count` is a binary one, `told` and `lost` are done with before their last byte. */
type Fate = 'read' | 'count' | 'told' | 'lost';

/**
 * Reads the messages (RFC 6455 §5.4, RFC 7692) of one direction as their bytes pass. What is not UTF-8 or too large is lost
 * alone; a broken frame, or a compressed message that was not inflated where later ones refer to it (context takeover), leaves
 * the direction unread for good, and `push` returns at once. A handler's exception passes through `push`; only `close` is of
 * use then.
 */
export class WebSocketMessageReader {
  readonly #options: MessageReaderOptions;
  readonly #handler: MessageHandler;
  readonly #frames: FrameReader;
  readonly #collector: MessageCollector;
  readonly #inflater: MessageInflater | undefined;
  #fate: Fate = 'told';
  #isText = false;
  #isCompressed = false;
  /** Of the message at hand: the payload of its frames that have begun. */
  #messageBytes = 0;
  #isOver = false;
  #isUnread = false;

  constructor(options: MessageReaderOptions, handler: MessageHandler) {
    const { deflate, budget } = options;
    this.#options = options;
    this.#handler = handler;
    this.#collector = new MessageCollector(options.maxMessageBytes, budget);
    this.#inflater = deflate && new MessageInflater(deflate, options.maxInflatedBytes, budget);
    this.#frames = new FrameReader(
      { isMasked: options.from === 'client', allowsCompressed: deflate !== undefined },
      {
        onHead: () => this.#onHead(),
        onPayload: (bytes, from, to) => this.#onPayload(bytes, from, to),
        onFrameEnd: () => this.#onFrameEnd(),
        onBroken: () => this.#giveUp('malformed'),
      },
    );
  }

  /** Something went wrong that leaves this direction unread for good. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** Memory held between two calls of `push`: a message that has come in part, and the window. All of it is in the budget. */
  get heldBytes(): number {
    return this.#collector.heldBytes + (this.#inflater?.heldBytes ?? 0);
  }

  /** The next bytes of this direction, in any pieces; they are needed during the call only. */
  push(bytes: Buffer): void {
    if (!this.#isOver) this.#frames.push(bytes);
  }

  /** Nothing more is told; gives its memory back. May be called at any time, also from a handler. */
  close(): void {
    this.#isOver = true;
    this.#frames.stop();
    this.#collector.release();
    this.#inflater?.release();
  }

  #onHead(): void {
    const { opcode, payloadBytes, isCompressed, isControl } = this.#frames;
    if (isControl) return;
    if (opcode !== OPCODE.continuation) {
      this.#isText = opcode === OPCODE.text;
      this.#isCompressed = isCompressed;
      this.#messageBytes = 0;
      // What later messages may refer back to has to be inflated, whatever it is.
      this.#fate = this.#isText || this.#isNeededLater() ? 'read' : 'count';
    }
    this.#messageBytes += payloadBytes;
    if (this.#fate === 'read' && this.#messageBytes > this.#options.maxMessageBytes) this.#lose('too-large');
  }

  #isNeededLater(): boolean {
    return this.#isCompressed && this.#options.deflate?.contextTakeover === true;
  }

  #onPayload(bytes: Buffer, from: number, to: number): void {
    const frame = this.#frames;
    if (this.#fate !== 'read' || frame.isControl) return;
    if (frame.isFinal && to - from === this.#messageBytes) {
      this.#fate = 'told';
      this.#tell(frame.mask === 0 ? bytes.subarray(from, to) : unmaskedCopy(bytes, from, to, frame.mask));
    } else if (!this.#collector.append(bytes, { from, to }, frame)) this.#lose('budget');
  }

  #onFrameEnd(): void {
    const { opcode, isFinal, isControl } = this.#frames;
    if (opcode === OPCODE.close) {
      this.close();
      this.#handler.onClose?.();
    }
    if (!isFinal || isControl) return;
    if (this.#fate === 'count') this.#handler.onBinary?.();
    if (this.#fate !== 'read') return;
    this.#fate = 'told';
    this.#tell(this.#collector.view());
    this.#collector.release();
  }

  #tell(payload: Buffer): void {
    const content = this.#isCompressed ? this.#inflater?.inflate(payload) : payload;
    if (content === undefined || typeof content === 'string') {
      this.#lose(content ?? 'malformed');
      return;
    }
    if (!this.#isText) this.#handler.onBinary?.();
    else if (isUtf8(content)) this.#handler.onText(content.toString('utf8'));
    else this.#handler.onUnread('text');
    const brokenBy = this.#inflater?.brokenBy;
    if (brokenBy !== undefined && !this.#isOver) this.#giveUp(brokenBy);
  }

  #lose(reason: UnreadReason): void {
    if (this.#isNeededLater()) {
      this.#giveUp(reason);
      return;
    }
    this.#fate = 'lost';
    this.#collector.release();
    this.#handler.onUnread(reason);
  }

  #giveUp(reason: UnreadReason): void {
    this.#isUnread = true;
    this.close();
    this.#handler.onUnread(reason);
  }
}

function unmaskedCopy(bytes: Buffer, from: number, to: number, mask: number): Buffer {
  const copy = Buffer.allocUnsafe(to - from);
  copyUnmasked(bytes, { from, to }, copy, 0, mask, 0);
  return copy;
}
