/**
 * The suite's own reading of HTTP/1.1 messages (RFC 9112), as both ends of a case see them. Deliberately independent of
 * `src/protocol/http1`: a mistake there must not hide itself. Reads a stream of requests or of responses, at any split points.
 */
import { createHash, type Hash } from 'node:crypto';

export type FramingKind = 'none' | 'length' | 'chunked' | 'until-close';

/** One message as it is on the wire; strings are latin1, one character for each octet. */
export interface Message {
  readonly startLine: string;
  readonly fields: readonly string[];
  readonly framing: FramingKind;
  readonly body: BodySeen;
  /** The chunk-size lines with their extensions, e.g. `5;a=b`; the first 2,000. */
  readonly chunkLines: string[];
  readonly trailers: string[];
  isComplete: boolean;
}

const KEPT_BODY_BYTES = 4_096;
const KEPT_CHUNK_LINES = 2_000;

export class BodySeen {
  bytes = 0;
  #hash: Hash = createHash('sha256');
  #beginning = '';

  add(chunk: Buffer): void {
    this.bytes += chunk.length;
    this.#hash.update(chunk);
    if (this.#beginning.length >= KEPT_BODY_BYTES) return;
    this.#beginning += chunk.toString('latin1', 0, KEPT_BODY_BYTES - this.#beginning.length);
  }

  /** The body itself while it is short, else its length and checksum: `67108864 bytes, sha256 9f86d0...`. */
  describe(): string {
    if (this.bytes <= KEPT_BODY_BYTES) return this.#beginning;
    return `${this.bytes} bytes, sha256 ${this.#hash.copy().digest('hex')}`;
  }
}

/** Value of the first field of that name, without surrounding blanks. */
export function fieldOf(message: Pick<Message, 'fields'>, name: string): string | undefined {
  const prefix = `${name.toLowerCase()}:`;
  return message.fields
    .find((line) => line.toLowerCase().startsWith(prefix))
    ?.slice(prefix.length)
    .trim();
}

export function methodOf(request: Message): string {
  return request.startLine.split(' ', 1)[0]!;
}

export type Head = Pick<Message, 'startLine' | 'fields'>;

export function statusOf(response: Head): number {
  return Number(response.startLine.split(' ', 2)[1]);
}

export function isInterim(response: Head): boolean {
  return statusOf(response) >= 100 && statusOf(response) < 200 && statusOf(response) !== 101;
}

export interface ReaderOptions {
  readonly kind: 'request' | 'response';
  /** Method of the request that the next final response answers; for `HEAD`, whose response has no body. */
  readonly requestMethod?: () => string;
  /** Told of each head before its body; returns what takes the body. */
  readonly createBody?: (head: Head) => BodySeen;
  /** Told of each head, of body bytes, and of each complete message. */
  readonly onProgress: () => void;
}

const START_LINES = { request: / HTTP\/1\.[01]$/, response: /^HTTP\/1\.[01] \d{3} / };

export class MessageReader {
  readonly messages: Message[] = [];
  tunnel = '';
  problem: string | undefined;
  readonly #options: ReaderOptions;
  readonly #reading = this.#readAll();
  #pending: Buffer = Buffer.alloc(0);
  #resumedAs: 'tunnel' | 'head' | undefined;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** Of a message that has not been read further, or behind the end of the last one. */
  get pendingBytes(): number {
    return this.#pending.length;
  }

  push(bytes: Buffer): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#continue();
  }

  /** The peer has finished: completes a body that only the end of the connection delimits. */
  end(): void {
    const last = this.messages.at(-1);
    if (last?.framing === 'until-close') last.isComplete = true;
    this.#options.onProgress();
  }

  /** A request with `Upgrade` holds the reader, since only the answer says what follows it. */
  resume(as: 'tunnel' | 'head'): void {
    this.#resumedAs = as;
    this.#continue();
  }

  #continue(): void {
    try {
      this.#reading.next();
    } catch (cause) {
      this.problem = String(cause);
    }
    this.#options.onProgress();
  }

  /** Yields when it needs more bytes. */
  *#readAll(): Generator<void, void> {
    const { kind } = this.#options;
    for (;;) {
      if (kind === 'request') yield* this.#skipEmptyLines();
      const [startLine = '', ...fields] = (yield* this.#takeUntil('\r\n\r\n')).split('\r\n');
      if (!START_LINES[kind].test(startLine)) throw new SyntaxError(`not a start line: ${JSON.stringify(startLine)}`);
      const body = this.#options.createBody?.({ startLine, fields }) ?? new BodySeen();
      const message: Message = {
        ...{ startLine, fields, framing: this.#framingOf(startLine, fields), body },
        ...{ chunkLines: [], trailers: [], isComplete: false },
      };
      this.messages.push(message);
      yield* this.#readBody(message);
      message.isComplete = true;
      if (message.framing !== 'none') continue;
      if (kind === 'request' && fieldOf(message, 'upgrade') !== undefined) {
        while (this.#resumedAs === undefined) yield;
      }
      const isTunnel = this.#resumedAs === 'tunnel' || (kind === 'response' && statusOf(message) === 101);
      this.#resumedAs = undefined;
      for (; isTunnel; yield) this.tunnel += this.#take(this.#pending.length).toString('latin1');
    }
  }

  /** RFC 9112 §2.2: empty lines before a request line are to be ignored. */
  *#skipEmptyLines(): Generator<void, void> {
    while (this.#pending.length < 2 || this.#pending.toString('latin1', 0, 2) === '\r\n') {
      if (this.#pending.length < 2) yield;
      else this.#take(2);
    }
  }

  /** RFC 9112 §6.3. */
  #framingOf(startLine: string, fields: readonly string[]): FramingKind {
    const isResponse = this.#options.kind === 'response';
    if (isResponse && (/^\S+ (1|204|304)/.test(startLine) || this.#options.requestMethod?.() === 'HEAD')) return 'none';
    const codings = fieldOf({ fields }, 'transfer-encoding');
    if (codings !== undefined && /(^|,)\s*chunked$/i.test(codings)) return 'chunked';
    if (codings === undefined && fieldOf({ fields }, 'content-length') !== undefined) return 'length';
    return isResponse ? 'until-close' : 'none';
  }

  *#readBody(message: Message): Generator<void, void> {
    const { framing, body, chunkLines, trailers } = message;
    if (framing === 'length') yield* this.#readCounted(body, Number(fieldOf(message, 'content-length')));
    for (; framing === 'until-close'; yield) body.add(this.#take(this.#pending.length));
    for (let size = framing === 'chunked' ? 1 : 0; size > 0; ) {
      const line = yield* this.#takeUntil('\r\n');
      const digits = /^([0-9a-f]+)[\t ]*(;.*)?$/i.exec(line)?.[1];
      if (digits === undefined) throw new SyntaxError(`not a chunk size: ${JSON.stringify(line)}`);
      if (chunkLines.length < KEPT_CHUNK_LINES) chunkLines.push(line);
      size = Number.parseInt(digits, 16);
      yield* this.#readCounted(body, size);
      const rest = size === 0 ? '' : yield* this.#takeUntil('\r\n');
      if (rest !== '') throw new SyntaxError(`chunk data not followed by CRLF but by ${JSON.stringify(rest)}`);
    }
    if (framing !== 'chunked') return;
    for (let line = yield* this.#takeUntil('\r\n'); line !== ''; line = yield* this.#takeUntil('\r\n')) {
      trailers.push(line);
    }
  }

  *#readCounted(body: BodySeen, bytes: number): Generator<void, void> {
    for (let left = bytes; left > 0; ) {
      if (this.#pending.length === 0) yield;
      const piece = this.#take(Math.min(left, this.#pending.length));
      body.add(piece);
      left -= piece.length;
    }
  }

  *#takeUntil(end: string): Generator<void, string> {
    for (;;) {
      const at = this.#pending.indexOf(end, 0, 'latin1');
      if (at >= 0) return this.#take(at + end.length).toString('latin1', 0, at);
      yield;
    }
  }

  #take(bytes: number): Buffer {
    const taken = this.#pending.subarray(0, bytes);
    this.#pending = this.#pending.subarray(bytes);
    return taken;
  }
}
