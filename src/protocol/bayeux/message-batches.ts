/** Splits texts into batches of some milliseconds: a peer's brackets may take a hundred times as long as other JSON. */
import { type BayeuxMessage, parseArray, parseMessages } from './message.ts';

/** A text up to this length is one batch and is not scanned first. */
const SMALL_CHARS = 16_384;
/** Limits of one batch. A single message with more characters, or more arrays and objects, is not read. */
const BATCH_CHARS = 65_536;
const BATCH_BRACKETS = 8_192;
const BATCH_MESSAGES = 200;

/** Why a part of a text is not read: not Bayeux, or one message that exceeds a batch. */
export type UnreadPart = 'not-bayeux' | 'too-complex';

export class MessageBatches {
  readonly #text: string;
  #at: number;
  #isInArray = false;
  isDone = false;
  #hasFound = false;

  constructor(text: string) {
    this.#text = text;
    this.#at = skipBlanks(text, 0);
  }

  /**
   * Undefined when there are no more. A text up to 16 KiB is read as a whole or not at all, a longer one up to the part
   * that is not Bayeux.
   */
  next(): readonly BayeuxMessage[] | UnreadPart | undefined {
    if (this.isDone) return undefined;
    if (!this.#isInArray) {
      if (this.#text.length - this.#at <= SMALL_CHARS) return this.#whole();
      if (this.#text.charCodeAt(this.#at) !== OPEN_BRACKET) {
        const { end, brackets } = scanItem(this.#text, this.#at);
        if (!isTooMuch(end - this.#at, brackets)) return this.#whole();
        this.isDone = true;
        return 'too-complex';
      }
      this.#isInArray = true;
      this.#at += 1;
    }
    return this.#nextOfArray();
  }

  #whole(): readonly BayeuxMessage[] | UnreadPart {
    this.isDone = true;
    return parseMessages(this.#text) ?? 'not-bayeux';
  }

  #nextOfArray(): readonly BayeuxMessage[] | UnreadPart {
    const from = this.#at;
    let brackets = 0;
    for (let messages = 0; messages < BATCH_MESSAGES; messages += 1) {
      const item = scanItem(this.#text, this.#at);
      brackets += item.brackets;
      const isFull = isTooMuch(item.end - from, brackets);
      if (isFull && messages > 0) break;
      const isLast = this.#text.charCodeAt(item.end) !== COMMA;
      this.isDone = isLast;
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
      this.isDone = true;
      return 'not-bayeux';
    }
    this.#hasFound ||= messages.length > 0;
    return messages;
  }
}

function isTooMuch(chars: number, brackets: number): boolean {
  return chars > BATCH_CHARS || brackets > BATCH_BRACKETS;
}

/** Finds the end of the array item that starts at `from`: the comma or bracket after it, or the end of the text. */
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

/** The index of the quote that ends the string started at `from`; the text's end without one. */
function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from + 1);
  while (at > 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at < 0 ? text.length : at;
}

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
