import {
  ABSENT,
  CR,
  FIELD_VALUE,
  type FieldSummary,
  findHeadEnd,
  HeadText,
  LF,
  readFields,
  SPACE,
  TOKEN,
  UNCLEAR,
} from './field-summary.ts';
import { BodyReader, CHUNKED, type Framing, lengthFraming, MALFORMED, MORE, NO_BODY, UNTIL_CLOSE } from './framing.ts';

interface ResponseHead {
  readonly status: number;
  readonly framing: Framing;
  readonly isPersistent: boolean;
}

const NOTHING = Buffer.alloc(0);

/** `complete`: the last byte is at `end`. `malformed`, `too-large`: the bytes after `end` cannot be passed on. */
export type ResponseProgress = 'more' | 'complete' | 'malformed' | 'too-large';

/**
 * Follows one response after another through the bytes of an upstream connection. Heads are held back until they are
 * complete; `bytes` up to `end` may be passed on after each `read`.
 */
export class ResponseReader {
  readonly #maxHeadBytes: number;
  readonly #body: BodyReader;
  #method = '';
  #isInBody = false;
  /** Begins with a head that is not complete; the rest is room for more of it. */
  #store: Buffer = NOTHING;
  /** Length of that head so far; its empty line does not end within it. */
  #heldBytes = 0;
  /** The bytes of the last `read`, after the beginning of a head that was held back. Valid until the next `read`. */
  bytes: Buffer = NOTHING;
  length = 0;
  /** Offset in `bytes`: everything before it belongs to the response and may be passed on. */
  end = 0;
  /** Head of the final response; undefined until it has arrived. */
  head: ResponseHead | undefined;
  /** Status of the last interim response in this `read` if no final one followed it, else 0. */
  interimStatus = 0;
  /** Offset just past the final response's head in `bytes` if it came with this `read`, else 0. */
  headEnd = 0;
  /** After `malformed`: the field, the line or the part of a body that is wrong, for the log. */
  fault = '';
  /** Offset of the final response's head in `bytes` if it came with this `read`; interim ones may precede it. */
  headStart = 0;

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes;
    this.#body = new BodyReader(maxHeadBytes);
  }

  begin(method: string): void {
    this.#method = method;
    this.#isInBody = false;
    this.#dropHeld();
    this.head = undefined;
  }

  /** Frees the memory of the last `read`, which may be large. Call it once the response has ended. */
  release(): void {
    this.bytes = NOTHING;
    this.#dropHeld();
  }

  /** Memory of a head that is held back. */
  get keptBytes(): number {
    return this.#store.length;
  }

  /** Reads `bytes` up to `length`. The caller may reuse the memory once it has passed on the bytes up to `end`. */
  read(bytes: Buffer, length: number): ResponseProgress {
    this.bytes = bytes;
    this.length = length;
    if (this.#heldBytes > 0) this.#appendToHeld(bytes, length);
    this.end = 0;
    this.headEnd = 0;
    this.interimStatus = 0;
    while (!this.#isInBody) {
      const progress = this.#readHead();
      if (progress !== undefined) return progress;
    }
    const bodyEnd = this.#body.read(this.bytes, this.end, this.length);
    if (bodyEnd === MALFORMED) {
      this.fault = this.#body.chunked?.part ?? '';
      return 'malformed';
    }
    this.end = bodyEnd === MORE ? this.length : bodyEnd;
    return bodyEnd === MORE ? 'more' : 'complete';
  }

  /** The final response's head if it came with this `read`: latin1, with its empty line. */
  get headText(): string {
    return this.bytes.toString('latin1', this.headStart, this.headEnd);
  }

  /** Offset in `bytes` of the first body byte of this `read`; `end` without one. */
  get bodyStart(): number {
    if (this.headEnd > 0) return this.headEnd;
    return this.#isInBody ? 0 : this.end;
  }

  /** Whether the end of the connection is the proper end of the response (RFC 9112 §6.3, item 8). */
  get endsWithConnection(): boolean {
    return this.head?.framing.kind === 'until-close';
  }

  get hasContent(): boolean {
    return this.#isInBody && this.#body.hasContent;
  }

  #readHead(): ResponseProgress | undefined {
    // Three of the four bytes that end a head may be held.
    const end = findHeadEnd(this.bytes, Math.max(this.end, this.#heldBytes - 3), this.length);
    if ((end === -1 ? this.length : end) - this.end > this.#maxHeadBytes) return 'too-large';
    if (end === -1) return this.#holdBack();
    this.#dropHeld();
    const head = parseResponseHead(this.bytes, this.end, end, this.#method);
    if (head === undefined) return this.#mendHead(end);
    // 101 answers an upgrade, and the relay asks for none.
    if (head.status === 101) {
      this.fault = 'status 101';
      return 'malformed';
    }
    const start = this.end;
    this.end = end;
    this.interimStatus = head.status;
    // The final response is still to come (RFC 9110 §15.2).
    if (head.status < 200) return undefined;
    this.interimStatus = 0;
    this.head = head;
    this.headStart = start;
    this.headEnd = end;
    this.#body.begin(head.framing);
    this.#isInBody = true;
    return undefined;
  }

  /** Removes what a proxy must: blanks before a colon (RFC 9112 §5.1), folds (§5.2). Then the head is read again. */
  #mendHead(end: number): ResponseProgress | undefined {
    const text = this.bytes.toString('latin1', this.end, end);
    // A blank after the status line is no fold.
    const isOdd = /^[^\r]*\r\n[ \t]/.test(text);
    const unfolded = isOdd ? text : text.replace(/\r\n[ \t]+/g, ' ');
    const mended = isOdd ? text : unfolded.replace(/(\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:/g, '$1:');
    if (mended === text) {
      this.fault = describeHeadFault(text);
      return 'malformed';
    }
    const before = this.bytes.subarray(0, this.end);
    this.bytes = Buffer.concat([before, Buffer.from(mended, 'latin1'), this.bytes.subarray(end, this.length)]);
    this.length = this.bytes.length;
    return undefined;
  }

  /** Copies the beginning of a head, since the memory is reused for the next read. */
  #holdBack(): ResponseProgress {
    if (isNoHead(this.bytes.subarray(this.end, this.length), this.#heldBytes)) {
      this.fault = 'status line';
      return 'malformed';
    }
    const isHeld = this.bytes === this.#store;
    this.#heldBytes = this.length - this.end;
    if (isHeld && this.end === 0) return 'more';
    this.#store = Buffer.allocUnsafeSlow(this.#heldBytes);
    this.bytes.copy(this.#store, 0, this.end, this.length);
    return 'more';
  }

  /** Copies what is held only when it has doubled: a head of 64 KiB that came byte by byte took seconds. */
  #appendToHeld(bytes: Buffer, length: number): void {
    const total = this.#heldBytes + length;
    if (total > this.#store.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(total, 2 * this.#heldBytes));
      this.#store.copy(grown, 0, 0, this.#heldBytes);
      this.#store = grown;
    }
    bytes.copy(this.#store, this.#heldBytes, 0, length);
    this.bytes = this.#store;
    this.length = total;
  }

  #dropHeld(): void {
    this.#store = NOTHING;
    this.#heldBytes = 0;
  }
}

const START = Buffer.from('HTTP/1.', 'latin1');

/** Can never be a head, e.g. the greeting of another protocol. The first `searched` bytes may begin one. */
function isNoHead(bytes: Buffer, searched: number): boolean {
  const length = Math.min(START.length, bytes.length);
  if (bytes.compare(START, 0, length, 0, length) !== 0) return true;
  for (let at = bytes.indexOf(LF, searched); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return true;
  }
  return false;
}

const VERSION = 'HTTP/1.';
const DIGIT_0 = 0x30;
const DIGIT_1 = 0x31;

/**
 * Reads one whole response head that answers `method`. Undefined if it is not well-formed, or its framing is in doubt
 * (RFC 9112 §6.3: what follows might be read as another response).
 */
export function parseResponseHead(
  bytes: Uint8Array,
  start: number,
  end: number,
  method: string,
): ResponseHead | undefined {
  const minor = bytes[start + VERSION.length];
  if (!startsWithVersion(bytes, start) || (minor !== DIGIT_0 && minor !== DIGIT_1)) return undefined;
  const statusStart = start + VERSION.length + 2;
  if (bytes[statusStart - 1] !== SPACE) return undefined;
  const status = parseStatus(bytes, statusStart);
  if (status === undefined) return undefined;
  // The reason phrase and the space before it may be missing.
  let at = statusStart + 3;
  if (bytes[at] !== SPACE && bytes[at] !== CR) return undefined;
  while (at < end && FIELD_VALUE[bytes[at] as number] === 1) at += 1;
  if (bytes[at] !== CR || bytes[at + 1] !== LF) return undefined;

  const fields = readFields(bytes, at + 2, end);
  if (fields.end === UNCLEAR) return undefined;
  const framing = chooseResponseFraming(status, method, fields);
  if (framing === undefined) return undefined;
  // RFC 9112 §9.3; HTTP/1.0 with a transfer coding: §6.1.
  const isKept = minor === DIGIT_1 || (fields.connectionKeepAlive && !fields.hasTransferEncoding);
  return { status, framing, isPersistent: isKept && !fields.connectionClose && framing.kind !== 'until-close' };
}

/** A response head for observers. Parsed a second time, so that without observers no head stays in memory. */
export class ResponseHeadFields extends HeadText {
  readonly status: number;

  constructor(status: number, text: string) {
    const lineStarts: number[] = [];
    readFields(Buffer.from(text, 'latin1'), text.indexOf('\r\n') + 2, text.length, lineStarts);
    super(text, lineStarts);
    this.status = status;
  }
}

function startsWithVersion(bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < VERSION.length; i += 1) {
    if (bytes[start + i] !== VERSION.charCodeAt(i)) return false;
  }
  return true;
}

function parseStatus(bytes: Uint8Array, start: number): number | undefined {
  let status = 0;
  for (let at = start; at < start + 3; at += 1) {
    const digit = (bytes[at] as number) - DIGIT_0;
    if (!(digit >= 0 && digit <= 9)) return undefined;
    status = status * 10 + digit;
  }
  return status >= 100 ? status : undefined;
}

function chooseResponseFraming(status: number, method: string, fields: FieldSummary): Framing | undefined {
  if (fields.contentLength === UNCLEAR) return undefined;
  if (fields.hasTransferEncoding && fields.contentLength !== ABSENT) return undefined;
  if (method === 'HEAD' || status < 200 || status === 204 || status === 304) return NO_BODY;
  // The final coding decides, also if `chunked` was said twice, as Tomcat does when an application sets the field, too
  // (RFC 9112 §6.3, item 4).
  if (fields.hasTransferEncoding) return fields.isChunked ? CHUNKED : UNTIL_CLOSE;
  return fields.contentLength === ABSENT ? UNTIL_CLOSE : lengthFraming(fields.contentLength);
}

const MAX_NAME_LENGTH = 40;
const START_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: |$)/;

/** E.g. `field X-Name (line 3)`, for the log. Never a value, or a line that is no field: either may hold a secret. */
function describeHeadFault(text: string): string {
  const lines = text.split('\r\n');
  if (!START_LINE.test(lines[0] ?? '')) return 'status line';
  for (const [index, line] of lines.slice(1, -2).entries()) {
    const colon = line.indexOf(':');
    const name = colon === -1 ? '' : line.slice(0, colon);
    const where = `line ${index + 2}`;
    if (!isEach(name, TOKEN) || name === '') return where;
    if (!isEach(line.slice(colon + 1), FIELD_VALUE)) return `field ${name.slice(0, MAX_NAME_LENGTH)} (${where})`;
  }
  const bytes = Buffer.from(text, 'latin1');
  const fields = readFields(bytes, text.indexOf('\r\n') + 2, bytes.length);
  if (fields.contentLength === UNCLEAR) return 'field Content-Length';
  if (fields.hasTransferEncoding && fields.contentLength !== ABSENT) return 'Content-Length beside Transfer-Encoding';
  return 'status line';
}

function isEach(text: string, characters: Uint8Array): boolean {
  for (let i = 0; i < text.length; i += 1) if (characters[text.charCodeAt(i)] !== 1) return false;
  return true;
}
