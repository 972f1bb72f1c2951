import { CR, findHeadEnd, LF } from './field-summary.ts';
import { twinKey, withAllowedOptions } from './forwarded.ts';
import { BodyReader, MALFORMED, MORE } from './framing.ts';
import { type Http1RequestHead, isOddPrefix, parseRequestHead, type RequestFault } from './request-head.ts';
import { MAX_TEXT_BYTES } from './text.ts';

const NOTHING = Buffer.alloc(0);
const HEAD = 'HEAD ';
/** Some clients send one after a body; more than a few are no client's. */
const MAX_EMPTY_LINES = 32;

/** Follows one request after another through the bytes of a client. Those of later requests wait in `unread`. */
export class RequestReader {
  readonly #maxHeadBytes: number;
  readonly #body: BodyReader;
  /** The beginning of a head, or pipelined requests. */
  unread: Buffer = NOTHING;
  #text = '';
  /** The last byte of the current request has arrived, or there is no current request. */
  isDone = true;
  #skipped = 0;
  /** Our copy that holds `unread`, possibly with room after it; undefined while `unread` is the buffer of a read. */
  #store: Buffer | undefined;
  /** `unread` was searched up to this offset: no head ends there, and `isOddPrefix` found nothing. */
  #searched = 0;
  #trailers: TrailerFilter | undefined;

  constructor(maxHeadBytes: number) {
    this.#maxHeadBytes = maxHeadBytes;
    this.#body = new BodyReader(maxHeadBytes);
  }

  /** Latin1 text of what the last `begin` returned: the head, and the rest unless it is long. Only once. */
  takeText(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  /** Memory that `unread` keeps alive, including what else shares its buffer. */
  get keptBytes(): number {
    return this.unread.length === 0 ? 0 : this.unread.buffer.byteLength;
  }

  /**
   * Copies the existing bytes each time they have doubled, not with each packet: 64 KB that come byte by byte are
   * copied twice, not 33,000 times.
   */
  append(chunk: Buffer): void {
    if (this.unread.length === 0) {
      this.unread = chunk;
      this.#store = undefined;
      return;
    }
    const length = this.unread.length + chunk.length;
    let store = this.#store;
    let start = this.unread.byteOffset - (store?.byteOffset ?? 0);
    if (store === undefined || store.buffer !== this.unread.buffer || start + length > store.length) {
      store = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.unread.length));
      this.unread.copy(store);
      start = 0;
      this.#store = store;
    }
    // No other code has seen the memory after `unread` yet.
    chunk.copy(store, start + this.unread.length);
    this.unread = store.subarray(start, start + length);
  }

  /** Copies `unread` if it lies in `reused` memory of the caller, or if it keeps more than twice its length alive. */
  copyIfShared(reused?: Buffer): void {
    const { buffer, length } = this.unread;
    if (length === 0 || (buffer !== reused?.buffer && buffer.byteLength <= 2 * length)) return;
    this.#store = Buffer.allocUnsafeSlow(length);
    this.unread.copy(this.#store);
    this.unread = this.#store;
  }

  /** Drops empty lines before the next request line (RFC 9112 §2.2), up to a bound; a further one is a fault. */
  skipEmptyLines(): void {
    let at = 0;
    while (this.unread[at] === CR && this.unread[at + 1] === LF && this.#skipped < MAX_EMPTY_LINES) {
      at += 2;
      this.#skipped += 1;
    }
    if (at > 0) this.unread = this.unread.subarray(at);
  }

  clear(): void {
    this.#searched = 0;
    this.unread = NOTHING;
    this.#store = undefined;
  }

  /** Whether the next request is HEAD, also if the rest of its head cannot be read. */
  get isNextHead(): boolean {
    return this.unread.toString('latin1', 0, HEAD.length) === HEAD;
  }

  get bodyFault(): RequestFault {
    return this.#body.chunked?.isTooLarge === true ? 'body-overhead' : 'body';
  }

  /** Undefined until it is complete. `unread` keeps the head. What Connection must not ask for is removed from both. */
  nextHead(): Http1RequestHead | RequestFault | undefined {
    this.skipEmptyLines();
    // The LF of an empty line may follow.
    if (this.unread.length === 1 && this.unread[0] === CR) return undefined;
    // Three of the four bytes that end a head may have been searched before.
    const from = Math.max(0, Math.min(this.#searched, this.unread.length) - 3);
    const end = findHeadEnd(this.unread, from, this.unread.length);
    if (end === -1) {
      if (this.unread.length > this.#maxHeadBytes) return 'too-large';
      if (isOddPrefix(this.unread, from)) return 'line-breaks';
      this.#searched = this.unread.length;
      return undefined;
    }
    this.#searched = 0;
    if (end > this.#maxHeadBytes) return 'too-large';
    // Also decodes a short body that came with the head: one call into the runtime instead of two.
    const { length } = this.unread;
    this.#text = this.unread.toString('latin1', 0, length <= MAX_TEXT_BYTES ? length : end);
    const text = this.#text.slice(0, end);
    const head = parseRequestHead(text, this.unread);
    if (typeof head === 'string') return head;
    // Any upgrade but to WebSocket may be ignored (RFC 9110 §7.8). The JDK's client asks for h2c in each first request;
    // if the upstream agreed, the sidecar could not read anything that follows.
    const keepsUpgrade = !head.summary.hasUpgrade || head.isWebSocket;
    if (keepsUpgrade && !head.summary.hasLongOption) return head;
    const plain = withAllowedOptions(text, keepsUpgrade);
    if (plain === text) return head;
    this.unread = Buffer.concat([Buffer.from(plain, 'latin1'), this.unread.subarray(end)]);
    this.#store = undefined;
    this.#text = plain;
    return parseRequestHead(plain);
  }

  /**
   * Returns the bytes so far of the request of `nextHead`; undefined if its body is malformed. `removed` (as of
   * `twinKey`): trailers to remove.
   */
  begin(head: Http1RequestHead, removed?: ReadonlySet<string>): Buffer | undefined {
    const bytes = this.unread;
    const isFiltered = removed !== undefined && removed.size > 0 && head.framing.kind === 'chunked';
    this.#trailers = isFiltered ? new TrailerFilter(removed) : undefined;
    this.#searched = 0;
    this.#skipped = 0;
    this.unread = NOTHING;
    this.#body.begin(head.framing);
    const taken = this.continue(bytes, head.text.length);
    if (this.unread.length === 0) this.#store = undefined;
    return taken;
  }

  /** Takes further bytes of the current request, of its body from `from` on. Returns them like `begin`. */
  continue(bytes: Buffer, from = 0): Buffer | undefined {
    const end = this.#body.read(bytes, from, bytes.length);
    if (end === MALFORMED) return undefined;
    this.isDone = end !== MORE;
    let taken = bytes;
    if (end !== MORE && end !== bytes.length) {
      this.unread = bytes.subarray(end);
      taken = bytes.subarray(0, end);
    }
    if (this.#trailers === undefined) return taken;
    const trailerStart = this.#body.chunked?.trailerStart ?? MORE;
    if (trailerStart === MORE) return taken;
    return Buffer.concat([taken.subarray(0, trailerStart), this.#trailers.filter(taken.subarray(trailerStart))]);
  }
}

/** Removes lines from a trailer section that arrives in any pieces. Holds back no more than the beginning of a name. */
export class TrailerFilter {
  /** Keys as of `twinKey`. */
  readonly #removed: ReadonlySet<string>;
  readonly #maxName: number;
  /** The beginning of a line whose name is not known yet. */
  #held = '';
  #state: 'name' | 'pass' | 'remove' = 'name';

  constructor(removed: ReadonlySet<string>) {
    this.#removed = removed;
    this.#maxName = Math.max(...[...removed].map(({ length }) => length));
  }

  /** `bytes` are of the section, which a `ChunkedReader` has accepted. Returns those to pass on now. */
  filter(bytes: Buffer): Buffer {
    let passed = '';
    for (const character of bytes.toString('latin1')) {
      if (this.#state === 'name') {
        const isKnown = character === ':' || character === '\r' || this.#held.length > this.#maxName;
        if (isKnown && this.#removed.has(twinKey(this.#held))) this.#state = 'remove';
        else if (isKnown) {
          this.#state = 'pass';
          passed += this.#held + character;
        } else this.#held += character;
        continue;
      }
      if (this.#state === 'pass') passed += character;
      if (character === '\n') {
        this.#state = 'name';
        this.#held = '';
      }
    }
    return Buffer.from(passed, 'latin1');
  }
}
