import { once } from 'node:events';
import net from 'node:net';
import { reset } from '../../support/load/sockets.ts';

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
  lastId: string | undefined;
  listener: Listener | undefined;
  /** The other side has closed it, or it is broken. */
  isOver = false;
  strayBytes = 0;

  private constructor(socket: net.Socket, life: number) {
    this.socket = socket;
    this.life = life;
    let cause: NodeJS.ErrnoException | undefined;
    socket.on('data', (chunk) => {
      if (this.listener === undefined) this.strayBytes += chunk.length;
      else this.listener.onBytes(chunk);
    });
    socket.on('end', () => {
      this.isOver = true;
      if (this.#wasReset()) {
        socket.destroy();
        this.listener?.onClosed(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
        return;
      }
      this.listener?.onEnd();
      if (this.listener === undefined) socket.end();
    });
    socket.on('error', (error) => {
      cause = error;
    });
    socket.on('close', () => {
      this.isOver = true;
      this.listener?.onClosed(cause);
    });
  }

  /** Undefined when the connection is not accepted. `lifeOf` is called once it is established. */
  static async open(port: number, lifeOf: () => number): Promise<Connection | undefined> {
    const socket = net.connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    const isOpen = await once(socket, 'connect').catch(() => undefined);
    return isOpen && new Connection(socket, lifeOf());
  }

  /**
   * libuv reports a reset that arrives together with the last bytes as an orderly end, until libuv#4997. After an orderly
   * end the socket still has a peer address; a socket that was asked before caches it, so no code here does.
   */
  #wasReset(): boolean {
    return !this.socket.writableEnded && this.socket.remoteAddress === undefined;
  }

  leave(byReset: boolean): void {
    if (byReset) reset(this.socket);
    else this.socket.destroy();
  }
}
