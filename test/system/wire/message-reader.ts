/**
 * The suite's own reading of HTTP/1.1 messages (RFC 9112), as both ends of a case see them. Deliberately independent of
 * `src/protocol/http1`: a mistake there must not hide itself. Reads a stream of requests or of responses, at any split points.
 */
import { createHash, type Hash } from 'node:crypto';

export type FramingKind = 'none' | 'length' | 'chunked' | 'until-close';

/** One message as it is on the wire; strings are latin1, one character for each octet. */
export interface Message {
  /** `GET /a HTTP/1.1` or `HTTP/1.1 200 OK`. */
  readonly startLine: string;
  /** Field lines as sent, e.g. `Host: a`. */
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
const CRLF = Buffer.from('\r\n');
const HEAD_END = Buffer.from('\r\n\r\n');

/** A body's length, checksum and beginning. */
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
export function fieldOf(message: Message, name: string): string | undefined {
  const prefix = `${name.toLowerCase()}:`;
  return message.fields
    .find((line) => line.toLowerCase().startsWith(prefix))
    ?.slice(prefix.length)
    .trim();
}

/** `GET` of a request, `200` of a response. */
export function methodOf(request: Message): string {
  return request.startLine.split(' ', 1)[0]!;
}

export function statusOf(response: Message): number {
  return Number(response.startLine.split(' ', 2)[1]);
}

export function isInterim(response: Message): boolean {
  return statusOf(response) >= 100 && statusOf(response) < 200 && statusOf(response) !== 101;
}

type State =
  | 'head'
  | 'length'
  | 'until-close'
  | 'chunk-size'
  | 'chunk-data'
  | 'chunk-end'
  | 'trailers'
  | 'held'
  | 'tunnel';

export interface ReaderOptions {
  readonly kind: 'request' | 'response';
  /** Method of the request that the next final response answers; for `HEAD`, whose response has no body. */
  readonly requestMethod?: () => string;
  /** Told of each head, of body bytes, and of each complete message. */
  readonly onProgress: () => void;
}

export class MessageReader {
  readonly messages: Message[] = [];
  /** Bytes behind an accepted upgrade. */
  tunnel = '';
  /** What was not HTTP, if anything. */
  problem: string | undefined;
  readonly #options: ReaderOptions;
  #state: State = 'head';
  #pending: Buffer = Buffer.alloc(0);
  #remaining = 0;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  get current(): Message | undefined {
    return this.messages.at(-1);
  }

  /** Bytes that came but are not yet understood, for handing the connection over. */
  takePending(): Buffer {
    const pending = this.#pending;
    this.#pending = Buffer.alloc(0);
    return pending;
  }

  push(bytes: Buffer): void {
    this.#pending = this.#pending.length === 0 ? bytes : Buffer.concat([this.#pending, bytes]);
    this.#run();
  }

  /** The peer has finished: completes a body that only the end of the connection delimits. */
  end(): void {
    if (this.#state === 'until-close') this.#complete('head');
    this.#options.onProgress();
  }

  /** A request with `Upgrade` holds the reader, since only the answer says what follows it. */
  resume(as: 'tunnel' | 'head'): void {
    this.#state = as;
    this.#run();
  }

  #run(): void {
    while (this.problem === undefined && this.#pending.length > 0 && this.#step());
    this.#options.onProgress();
  }

  #step(): boolean {
    switch (this.#state) {
      case 'head':
        return this.#readHead();
      case 'length':
      case 'chunk-data':
        return this.#readCounted();
      case 'until-close':
        this.current!.body.add(this.takePending());
        return false;
      case 'chunk-size':
        return this.#readChunkSize();
      case 'chunk-end':
        return this.#readLine((line) => {
          if (line !== '') this.problem = `chunk data not followed by CRLF but by ${JSON.stringify(line)}`;
          this.#state = 'chunk-size';
        });
      case 'trailers':
        return this.#readLine((line) => {
          if (line === '') this.#complete('head');
          else this.current!.trailers.push(line);
        });
      case 'held':
        return false;
      case 'tunnel':
        this.tunnel += this.takePending().toString('latin1');
        return false;
    }
  }

  #readHead(): boolean {
    // RFC 9112 §2.2: empty lines before a request line are to be ignored.
    if (this.#options.kind === 'request' && this.#pending.subarray(0, 2).equals(CRLF)) {
      this.#pending = this.#pending.subarray(2);
      return true;
    }
    const end = this.#pending.indexOf(HEAD_END);
    if (end < 0) return false;
    const [startLine = '', ...fields] = this.#pending.toString('latin1', 0, end).split('\r\n');
    this.#pending = this.#pending.subarray(end + HEAD_END.length);
    const looksRight = this.#options.kind === 'request' ? / HTTP\/1\.[01]$/ : /^HTTP\/1\.[01] \d{3} /;
    if (!looksRight.test(startLine)) {
      this.problem = `not a start line: ${JSON.stringify(startLine)}`;
      return false;
    }
    this.#begin(startLine, fields);
    return true;
  }

  #begin(startLine: string, fields: string[]): void {
    const draft: Message = {
      startLine,
      fields,
      framing: 'none',
      body: new BodySeen(),
      chunkLines: [],
      trailers: [],
      isComplete: false,
    };
    const message = { ...draft, framing: this.#framingOf(draft) };
    this.messages.push(message);
    this.#options.onProgress();
    if (message.framing === 'until-close') this.#state = 'until-close';
    else if (message.framing === 'chunked') this.#state = 'chunk-size';
    else if (message.framing === 'length' && this.#remaining > 0) this.#state = 'length';
    else if (this.#options.kind === 'response' && statusOf(message) === 101) this.#complete('tunnel');
    else if (this.#options.kind === 'request' && fieldOf(message, 'upgrade') !== undefined) this.#complete('held');
    else this.#complete('head');
  }

  /** RFC 9112 §6.3. */
  #framingOf(message: Message): FramingKind {
    if (this.#options.kind === 'response') {
      const status = statusOf(message);
      if (isInterim(message) || status === 101 || status === 204 || status === 304) return 'none';
      if (this.#options.requestMethod?.() === 'HEAD') return 'none';
    }
    const codings = fieldOf(message, 'transfer-encoding');
    if (codings !== undefined && /(^|,)\s*chunked$/i.test(codings)) return 'chunked';
    const length = codings === undefined ? fieldOf(message, 'content-length') : undefined;
    if (length !== undefined) {
      this.#remaining = Number(length);
      return 'length';
    }
    return this.#options.kind === 'response' ? 'until-close' : 'none';
  }

  #readCounted(): boolean {
    const chunk = this.#pending.subarray(0, this.#remaining);
    this.#pending = this.#pending.subarray(chunk.length);
    this.#remaining -= chunk.length;
    this.current!.body.add(chunk);
    if (this.#remaining > 0) return false;
    if (this.#state === 'chunk-data') this.#state = 'chunk-end';
    else this.#complete('head');
    return true;
  }

  #readChunkSize(): boolean {
    return this.#readLine((line) => {
      const size = /^([0-9a-f]+)[\t ]*(;.*)?$/i.exec(line);
      if (size === null) {
        this.problem = `not a chunk size: ${JSON.stringify(line)}`;
        return;
      }
      const message = this.current!;
      if (message.chunkLines.length < KEPT_CHUNK_LINES) message.chunkLines.push(line);
      this.#remaining = Number.parseInt(size[1]!, 16);
      this.#state = this.#remaining === 0 ? 'trailers' : 'chunk-data';
    });
  }

  #readLine(take: (line: string) => void): boolean {
    const end = this.#pending.indexOf(CRLF);
    if (end < 0) return false;
    const line = this.#pending.toString('latin1', 0, end);
    this.#pending = this.#pending.subarray(end + CRLF.length);
    take(line);
    return true;
  }

  #complete(next: State): void {
    this.current!.isComplete = true;
    this.#state = next;
  }
}
