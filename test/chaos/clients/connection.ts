import { once } from 'node:events';
import net from 'node:net';
import { reset } from '../wire/reset.ts';

/** Receives the events of a connection. */
export interface Listener {
  onBytes(chunk: Buffer): void;
  onEnd(): void;
  onClosed(cause: NodeJS.ErrnoException | undefined): void;
}

/** A client's connection to the sidecar, for one exchange at a time. */
export class Connection {
  readonly socket: net.Socket;
  /** The start of the sidecar that accepted it. */
  readonly life: number;
  /** The last call on it. */
  lastId: string | undefined;
  #listener: Listener | undefined;
  #isOver = false;
  #cause: NodeJS.ErrnoException | undefined;
  #stray = 0;

  private constructor(socket: net.Socket, life: number) {
    this.socket = socket;
    this.life = life;
    socket.on('data', (chunk) => {
      if (this.#listener === undefined) this.#stray += chunk.length;
      else this.#listener.onBytes(chunk);
    });
    socket.on('end', () => {
      this.#isOver = true;
      if (this.#wasReset()) {
        socket.destroy();
        this.#listener?.onClosed(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
        return;
      }
      this.#listener?.onEnd();
      if (this.#listener === undefined) socket.end();
    });
    socket.on('error', (cause: NodeJS.ErrnoException) => {
      this.#cause = cause;
    });
    socket.on('close', () => {
      this.#isOver = true;
      this.#listener?.onClosed(this.#cause);
    });
  }

  /** Rejects when the connection is not accepted. `lifeOf` is called once it is established. */
  static async open(port: number, lifeOf: () => number): Promise<Connection> {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    try {
      await once(socket, 'connect');
    } catch (cause) {
      socket.destroy();
      throw cause;
    }
    return new Connection(socket, lifeOf());
  }

  /** The other side has closed it, or it is broken. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Bytes that arrived without a request. */
  get strayBytes(): number {
    return this.#stray;
  }

  /**
   * libuv reports a reset that arrives together with the last bytes as an orderly end, until libuv#4997. After an orderly
   * end the socket still has a peer address; a socket that was asked before caches it, so no code here does.
   */
  #wasReset(): boolean {
    return !this.socket.writableEnded && this.socket.remoteAddress === undefined;
  }

  listen(listener: Listener | undefined): void {
    this.#listener = listener;
  }

  leave(byReset: boolean): void {
    if (byReset) reset(this.socket);
    else this.socket.destroy();
  }

  /** Resolves when `socket.write` may be called again, or the connection has ended. */
  async drained(): Promise<void> {
    const over = new AbortController();
    try {
      await Promise.race([
        once(this.socket, 'drain', over),
        once(this.socket, 'close', over),
        once(this.socket, 'end', over),
      ]);
    } finally {
      over.abort();
    }
  }
}
