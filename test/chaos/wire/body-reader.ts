/** Finds the payload and the end of an HTTP/1.1 body (RFC 9112 sections 6.3 and 7.1); independent of the sidecar's own code. */
export type Framing =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'close' };

const MAX_LINE_BYTES = 4_096;

export class BodyReader {
  readonly #onPayload: (chunk: Buffer, from: number, to: number) => void;
  readonly #isChunked: boolean;
  #state: 'payload' | 'size' | 'chunk-end' | 'trailer' | 'done';
  #left: number;
  #line = '';
  readonly trailers: string[] = [];

  constructor(framing: Framing, onPayload: (chunk: Buffer, from: number, to: number) => void) {
    this.#onPayload = onPayload;
    this.#isChunked = framing.kind === 'chunked';
    this.#left = framing.kind === 'length' ? framing.bytes : Number.POSITIVE_INFINITY;
    this.#state = this.#isChunked ? 'size' : 'payload';
    if (framing.kind === 'none' || this.#left === 0) this.#state = 'done';
  }

  get isDone(): boolean {
    return this.#state === 'done';
  }

  /** Where the body ends in `chunk`. Throws for malformed chunks. */
  read(chunk: Buffer, from: number): number {
    let at = from;
    while (at < chunk.length && this.#state !== 'done') {
      at = this.#state === 'payload' ? this.#readPayload(chunk, at) : this.#readLine(chunk, at);
    }
    return at;
  }

  #readPayload(chunk: Buffer, from: number): number {
    const to = Math.min(chunk.length, from + this.#left);
    this.#onPayload(chunk, from, to);
    this.#left -= to - from;
    if (this.#left === 0) this.#state = this.#isChunked ? 'chunk-end' : 'done';
    return to;
  }

  #readLine(chunk: Buffer, from: number): number {
    const feed = chunk.indexOf(0x0a, from);
    const to = feed < 0 ? chunk.length : feed + 1;
    this.#line += chunk.toString('latin1', from, to);
    if (this.#line.length > MAX_LINE_BYTES) throw new Error('a line between chunks is too long');
    if (feed < 0) return to;
    if (!this.#line.endsWith('\r\n')) throw new Error('a line between chunks ends with a bare LF');
    const line = this.#line.slice(0, -2);
    this.#line = '';
    this.#onLine(line);
    return to;
  }

  #onLine(line: string): void {
    if (this.#state === 'chunk-end') {
      if (line !== '') throw new Error('a chunk is longer than its size');
      this.#state = 'size';
    } else if (this.#state === 'size') {
      if (!/^[0-9a-fA-F]{1,8}$/.test(line))
        throw new Error(`malformed chunk size: ${JSON.stringify(line.slice(0, 40))}`);
      this.#left = Number.parseInt(line, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'payload';
    } else if (line === '') {
      this.#state = 'done';
    } else {
      this.trailers.push(line);
    }
  }
}
