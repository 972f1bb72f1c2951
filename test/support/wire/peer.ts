import type net from 'node:net';

/** One end of a raw connection: what came, and promises for what is to come. Strings are latin1. */
export class Peer {
  readonly socket: net.Socket;
  /** Everything that came, but what was taken. */
  received = '';
  hasEnded = false;
  isClosed = false;
  /** The connection was reset, not closed in order. */
  wasReset = false;
  readonly #waiting = new Set<() => void>();

  constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1');
      this.#wake();
    });
    socket.on('end', () => {
      this.hasEnded = true;
      this.#wake();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      this.wasReset ||= error.code === 'ECONNRESET' || error.code === 'EPIPE';
    });
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  send(text: string): void {
    this.socket.write(text, 'latin1');
  }

  finish(text = ''): void {
    this.socket.end(text, 'latin1');
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Until `pattern` has come, resolves with all that came; rejects when the connection ends before. */
  async until(pattern: string | RegExp): Promise<string> {
    await this.#until(pattern);
    return this.received;
  }

  /** Until `pattern` has come; what came, up to its end, is taken out of `received`. */
  async take(pattern: string | RegExp): Promise<string> {
    return this.#takeTo(await this.#until(pattern));
  }

  async head(): Promise<string> {
    return await this.take('\r\n\r\n');
  }

  /** Sends, and takes exactly one response with a Content-Length. */
  async ask(text: string): Promise<Response> {
    this.send(text);
    return await this.response();
  }

  async response(isHead = false): Promise<Response> {
    const head = await this.head();
    const length = isHead ? 0 : Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    return { status: Number(head.split(' ')[1]), head, body: await this.takeLength(length) };
  }

  /** The next `length` octets; rejects when the connection ends before. */
  async takeLength(length: number): Promise<string> {
    await this.#untilTrue(() => this.received.length >= length || this.#isOver);
    if (this.received.length < length) throw new Error(`the connection ended after ${this.received.length} octets`);
    return this.#takeTo(length);
  }

  async ended(): Promise<void> {
    await this.#untilTrue(() => this.#isOver);
  }

  async closed(): Promise<void> {
    await this.#untilTrue(() => this.isClosed);
  }

  get #isOver(): boolean {
    return this.hasEnded || this.isClosed;
  }

  async #until(pattern: string | RegExp): Promise<number> {
    let end = -1;
    await this.#untilTrue(() => {
      end = endOfMatch(this.received, pattern);
      return end !== -1 || this.#isOver;
    });
    if (end !== -1) return end;
    throw new Error(`the connection ended before ${String(pattern)}; came: ${JSON.stringify(this.received)}`);
  }

  #takeTo(end: number): string {
    const taken = this.received.slice(0, end);
    this.received = this.received.slice(end);
    return taken;
  }

  async #untilTrue(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) await new Promise<void>((resolve) => this.#waiting.add(resolve));
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

export interface Response {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

function endOfMatch(text: string, pattern: string | RegExp): number {
  if (typeof pattern === 'string') {
    const at = text.indexOf(pattern);
    return at === -1 ? -1 : at + pattern.length;
  }
  const match = pattern.exec(text);
  return match === null ? -1 : match.index + match[0].length;
}

export type PeerScript = ((peer: Peer) => unknown) | readonly ((peer: Peer) => unknown)[];

export async function playPeer(script: PeerScript, peer: Peer): Promise<void> {
  for (const step of typeof script === 'function' ? [script] : script) await step(peer);
}

export const takeHead = (peer: Peer) => peer.head();
export const take = (pattern: string | RegExp) => (peer: Peer) => peer.take(pattern);
export const send = (text: string) => (peer: Peer) => peer.send(text);
export const finish = (text?: string) => (peer: Peer) => peer.finish(text);

export const answeringAll = (text: string) => async (peer: Peer) => {
  for (;;) {
    await peer.head();
    peer.send(text);
  }
};
