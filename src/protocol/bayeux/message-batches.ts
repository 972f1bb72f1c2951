/**
 * Long texts, in pieces that each take some milliseconds at most to be parsed and understood, whatever a peer has put into them: JSON
 * may have brackets that take a hundred times as long as other text, and a text may hold thousands of messages.
 */
import { type BayeuxMessage, parseArray, parseMessages } from './message.ts';

/** Up to here a text is one batch, and not looked at before. */
const SMALL_CHARS = 16_384;
/** Most of one batch. A single message that has more characters, or arrays and objects, is not read. */
const BATCH_CHARS = 65_536;
const BATCH_BRACKETS = 8_192;
const BATCH_MESSAGES = 200;

/** Why a part of a text is not read: no Bayeux, or one message with more than a batch may have. */
export type UnreadPart = 'not-bayeux' | 'too-complex';

export class MessageBatches {
  readonly #text: string;
  /** What comes from here on has not been read. */
  #at: number;
  #isInArray = false;
  #isDone = false;
  /** Some of it was Bayeux. */
  #hasFound = false;

  constructor(text: string) {
    this.#text = text;
    this.#at = skipBlanks(text, 0);
  }

  /** `next` has given all. */
  get isDone(): boolean {
    return this.#isDone;
  }

  /**
   * The next messages, in order; undefined when there are no more. Of a text up to 16 KiB all is read or, where any of it is no
   * Bayeux, nothing; of a longer one, the batches before.
   */
  next(): readonly BayeuxMessage[] | UnreadPart | undefined {
    if (this.#isDone) return undefined;
    if (!this.#isInArray) {
      if (this.#text.length - this.#at <= SMALL_CHARS) return this.#whole();
      if (this.#text.charCodeAt(this.#at) !== OPEN_BRACKET) return this.#single();
      this.#isInArray = true;
      this.#at += 1;
    }
    return this.#nextOfArray();
  }

  #whole(): readonly BayeuxMessage[] | UnreadPart {
    this.#isDone = true;
    return parseMessages(this.#text) ?? 'not-bayeux';
  }

  #single(): readonly BayeuxMessage[] | UnreadPart {
    const { end, brackets } = scanItem(this.#text, this.#at);
    if (!isTooMuch(end - this.#at, brackets)) return this.#whole();
    this.#isDone = true;
    return 'too-complex';
  }

  #nextOfArray(): readonly BayeuxMessage[] | UnreadPart {
    const from = this.#at;
    let brackets = 0;
    for (let messages = 0; messages < BATCH_MESSAGES; messages += 1) {
      const item = scanItem(this.#text, this.#at);
      brackets += item.brackets;
      const isFull = isTooMuch(item.end - from, brackets);
      // It begins the next batch.
      if (isFull && messages > 0) break;
      const isLast = this.#text.charCodeAt(item.end) !== COMMA;
      this.#isDone = isLast;
      this.#at = item.end + 1;
      if (isFull) return 'too-complex';
      if (isLast) return this.#last(from, item.end);
    }
    return this.#parse(this.#text.slice(from, this.#at - 1));
  }

  #last(from: number, end: number): readonly BayeuxMessage[] | UnreadPart {
    const text = this.#text;
    if (text.charCodeAt(end) !== CLOSE_BRACKET || skipBlanks(text, end + 1) < text.length) return 'not-bayeux';
    const messages = this.#parse(text.slice(from, end));
    const isEmpty = skipBlanks(text, from) === end;
    return this.#hasFound || isEmpty ? messages : 'not-bayeux';
  }

  #parse(items: string): readonly BayeuxMessage[] | UnreadPart {
    const messages = parseArray(`[${items}]`);
    if (messages === undefined) {
      this.#isDone = true;
      return 'not-bayeux';
    }
    this.#hasFound ||= messages.length > 0;
    return messages;
  }
}

function isTooMuch(chars: number, brackets: number): boolean {
  return chars > BATCH_CHARS || brackets > BATCH_BRACKETS;
}

/** Where the item of an array that begins at `from` ends: at the comma or bracket behind it, or the end of the text. */
function scanItem(text: string, from: number): { readonly end: number; readonly brackets: number } {
  let [at, depth, brackets] = [from, 0, 0];
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      depth += 1;
      brackets += 1;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      if (depth === 0) break;
      depth -= 1;
    } else if (code === COMMA && depth === 0) {
      break;
    }
  }
  return { end: Math.min(at, text.length), brackets };
}

/** The index of the quote that ends the string begun at `from`; the text's end where there is none. */
function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at > 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at;
}

/** Whether an odd number of backslashes is in front of it. */
function isEscaped(text: string, at: number): boolean {
  let from = at;
  while (text.charCodeAt(from - 1) === BACKSLASH) from -= 1;
  return (at - from) % 2 === 1;
}

function skipBlanks(text: string, from: number): number {
  let at = from;
  while (isBlank(text.charCodeAt(at))) at += 1;
  return at;
}

/** RFC 8259 §2. */
function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09 || code === 0x0a || code === 0x0d;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
