import type net from 'node:net';

/** One end of a raw connection, in a test: what came, and promises for what is to come. Strings are latin1. */
export class Peer {
  readonly socket: net.Socket;
  /** Everything that came. */
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

  write(text: string): void {
    this.socket.write(text, 'latin1');
  }

  end(text = ''): void {
    this.socket.end(text, 'latin1');
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Until `pattern` has come; what came, up to its end, is taken out of `received`. Rejects when the connection ends first. */
  async take(pattern: string | RegExp): Promise<string> {
    let end = -1;
    await this.#until(() => {
      end = endOfMatch(this.received, pattern);
      return end !== -1 || this.isClosed || this.hasEnded;
    });
    if (end === -1)
      throw new Error(`the connection ended before ${String(pattern)}; came: ${JSON.stringify(this.received)}`);
    const taken = this.received.slice(0, end);
    this.received = this.received.slice(end);
    return taken;
  }

  /** One head, with its empty line. */
  async head(): Promise<string> {
    return await this.take('\r\n\r\n');
  }

  async ended(): Promise<void> {
    await this.#until(() => this.hasEnded || this.isClosed);
  }

  async closed(): Promise<void> {
    await this.#until(() => this.isClosed);
  }

  async #until(isTrue: () => boolean): Promise<void> {
    while (!isTrue()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}

function endOfMatch(text: string, pattern: string | RegExp): number {
  if (typeof pattern === 'string') {
    const at = text.indexOf(pattern);
    return at === -1 ? -1 : at + pattern.length;
  }
  const match = pattern.exec(text);
  return match === null ? -1 : match.index + match[0].length;
}
