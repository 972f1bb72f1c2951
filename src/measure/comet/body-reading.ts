import type { ReadingTask } from '../../limits/reading-share.ts';
import { KEPT_BODY_BYTES, KeptBytes, type Unfinished } from '../../limits/unfinished-bodies.ts';
import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';
import { MessageBatches } from '../../protocol/bayeux/message-batches.ts';
import { decodeContent } from '../../protocol/http1/content-coding.ts';
import type { BodyObserver } from '../../proxy/exchange/exchange.ts';
import type { CometApplication } from './comet-application.ts';
import type { UnreadReason } from './comet-metrics.ts';

/** Memory of one JSON text besides its characters: a form may have thousands of empty ones. */
const TEXT_BYTES = 64;
/** How much of a body is searched for its `clientId`. */
const PEEKED_BYTES = 8_192;
const MAX_CLIENT_ID_CHARS = 256;

export interface BodyReadingParts {
  readonly application: Pick<CometApplication, 'bodies' | 'config'>;
  readonly coding: string | undefined;
  /** The JSON texts in the body; an empty array if there are none. */
  parseTexts(body: string): readonly string[];
  onWhole(): void;
  onMessages(messages: readonly BayeuxMessage[]): void;
  onRead?(): void;
  onUnread(reason: UnreadReason): void;
}

/** The body of a Comet request or response: collected as it passes, parsed in steps once `ReadingShare.read` has it. */
export class BodyReading implements BodyObserver, ReadingTask, Unfinished {
  readonly #parts: BodyReadingParts;
  readonly #kept: KeptBytes;
  readonly #config: CometApplication['config'];
  /** Whole: the body is complete, and `step` has not begun to read it. */
  state: 'collecting' | 'whole' | 'reading' | 'ended' = 'collecting';
  #texts: readonly string[] = [];
  #nextIndex = 0;
  #batches: MessageBatches | undefined;
  /** Memory of the texts, charged to the budget. */
  #textBytes = 0;

  constructor(parts: BodyReadingParts) {
    this.#parts = parts;
    const { bodies, config } = parts.application;
    this.#kept = new KeptBytes(config.maxBodyBytes, bodies, this);
    this.#config = config;
  }

  /** The body is complete, and not all of it has been read. */
  get isWaiting(): boolean {
    return this.state === 'whole' || this.state === 'reading';
  }

  onBytes(bytes: Buffer): void {
    if (this.state !== 'collecting') return;
    const obstacle = this.#kept.append(bytes);
    if (obstacle !== undefined) this.giveUp(obstacle);
  }

  onEnd(): void {
    if (this.state !== 'collecting') return;
    this.state = 'whole';
    this.#parts.onWhole();
  }

  /** The `clientId` of its first message, found by a text search without parsing; undefined if there is none. */
  peekClientId(): string | undefined {
    const start = this.#kept.view().toString('latin1', 0, PEEKED_BYTES);
    const at = start.indexOf('clientId');
    return at < 0 ? undefined : CLIENT_ID.exec(start.slice(at, at + MAX_CLIENT_ID_CHARS))?.[1];
  }

  step(): boolean {
    if (this.state === 'ended') return false;
    let isMore = false;
    try {
      isMore = this.state === 'whole' ? this.#open() : this.#readBatch();
    } finally {
      if (!isMore) this.drop();
    }
    return isMore;
  }

  /** Copies nothing: this object owns the bytes already. */
  keep(): number {
    return this.#kept.heldBytes + this.#textBytes;
  }

  drop(): void {
    this.state = 'ended';
    this.#kept.release();
    this.#parts.application.bodies.giveBack(this.#textBytes);
    this.#textBytes = 0;
    this.#texts = [];
    this.#batches = undefined;
  }

  /** Called when an incomplete body's memory is needed, or when there is no time to read a complete one. */
  giveUp(reason: UnreadReason = this.state === 'collecting' ? 'budget' : 'time'): void {
    if (this.state === 'ended') return;
    this.drop();
    this.#parts.onUnread(reason);
  }

  #open(): boolean {
    this.state = 'reading';
    const body = this.#kept.view();
    // A server that ignores the content coding reads the plain body, so a false coding must not hide the body from us.
    const content =
      decodeContent(body, this.#parts.coding, this.#config.maxInflatedBytes) ?? (isJson(body) ? body : undefined);
    if (content === undefined) {
      this.#parts.onUnread('content-coding');
      return false;
    }
    const text = content.toString('utf8');
    this.#kept.release();
    this.#texts = this.#parts.parseTexts(text);
    // Text beyond ASCII may take two bytes for each character.
    const textBytes = content.length > text.length ? 2 * text.length : text.length;
    this.#textBytes = KEPT_BODY_BYTES + textBytes + TEXT_BYTES * this.#texts.length;
    this.#parts.application.bodies.takeAnyway(this.#textBytes);
    if (this.#texts.length === 0) {
      this.#parts.onUnread('not-bayeux');
      return false;
    }
    return this.#readBatch();
  }

  #readBatch(): boolean {
    this.#batches ??= this.#nextText();
    const batch = this.#batches?.next();
    if (typeof batch === 'string') this.#parts.onUnread(batch);
    else if (batch !== undefined) this.#parts.onMessages(batch);
    if (this.#batches?.isDone === true) this.#batches = this.#nextText();
    if (this.#batches === undefined) this.#parts.onRead?.();
    return this.#batches !== undefined;
  }

  #nextText(): MessageBatches | undefined {
    const text = this.#texts[this.#nextIndex];
    this.#nextIndex += 1;
    return text === undefined ? undefined : new MessageBatches(text);
  }
}

function isJson(body: Buffer): boolean {
  const first = body.find((byte) => !BLANKS.includes(byte));
  return first === OPEN_BRACKET || first === OPEN_BRACE;
}

const BLANKS: readonly number[] = [0x20, 0x09, 0x0d, 0x0a];
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
/** Matches JSON, and JSON inside a form or query. */
const CLIENT_ID = /^clientId(?:"|%22)\s*(?::|%3A)\s*(?:"|%22)([^"\\%]+)(?:"|%22)/i;
