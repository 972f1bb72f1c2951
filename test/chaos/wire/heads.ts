/** Reads heads out of a stream of bytes. */
import type { Framing } from './body-reader.ts';

const HEAD_END = Buffer.from('\r\n\r\n', 'latin1');
const MAX_HEAD_BYTES = 64 * 1024;

export class Head {
  readonly lines: readonly string[];

  constructor(text: string) {
    this.lines = text.slice(0, -4).split('\r\n');
  }

  get startLine(): string {
    return this.lines[0] ?? '';
  }

  /** Of an answer; 0 for any other start line. */
  get status(): number {
    return Number(/^HTTP\/1\.1 (\d{3}) /.exec(this.startLine)?.[1] ?? 0);
  }

  /** Whether the sidecar answered instead of the upstream. */
  get isProblem(): boolean {
    return this.field('x-chaos') === undefined && this.field('proxy-status')?.startsWith('d2-sidecar;') === true;
  }

  problemCode(body: string): string {
    return /"code":"(\w+)"/.exec(body)?.[1] ?? `status ${this.status}`;
  }

  field(name: string): string | undefined {
    const prefix = `${name.toLowerCase()}:`;
    return this.lines
      .slice(1)
      .find((line) => line.toLowerCase().startsWith(prefix))
      ?.slice(prefix.length)
      .trim();
  }

  /** All lines except the given fields (lower-case). */
  without(...names: readonly string[]): string[] {
    return this.lines.filter((line, i) => i === 0 || !names.includes(line.slice(0, line.indexOf(':')).toLowerCase()));
  }

  /** Framing of a message with this head whose status or method allows a body; `isAnswer` may end with its connection. */
  framing(isAnswer: boolean): Framing {
    if (this.field('transfer-encoding')?.toLowerCase() === 'chunked') return { kind: 'chunked' };
    const length = this.field('content-length');
    if (length !== undefined) return { kind: 'length', bytes: Number(length) };
    return { kind: isAnswer ? 'close' : 'none' };
  }
}

export class HeadReader {
  #kept: Buffer = Buffer.alloc(0);

  get hasBegun(): boolean {
    return this.#kept.length > 0;
  }

  /** The head, and the bytes after it; undefined until its empty line has arrived. Throws when the head is too large. */
  read(chunk: Buffer): { readonly head: Head; readonly rest: Buffer } | undefined {
    const all = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    const end = all.indexOf(HEAD_END);
    if (end < 0) {
      if (all.length > MAX_HEAD_BYTES) throw new Error('a head without an end');
      this.#kept = all;
      return undefined;
    }
    this.#kept = Buffer.alloc(0);
    const bodyAt = end + HEAD_END.length;
    return { head: new Head(all.toString('latin1', 0, bodyAt)), rest: all.subarray(bodyAt) };
  }
}
