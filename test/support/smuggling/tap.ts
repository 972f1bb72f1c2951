import net from 'node:net';
import { listening } from '../net.ts';

/** A server connection still open this long after the sidecar's has closed is ended. */
const HOLD_MS = 2_000;

export interface TappedConnection {
  toServer: string;
  fromServer: string;
}

/**
 * Between the sidecar and a real server, records every byte. However the sidecar leaves, the server sees
 * an orderly end and may answer everything that it received: so a request that it reads out of the bytes shows up
 * even if the sidecar has dropped the connection by then.
 */
export class Tap {
  port = 0;
  readonly #server: net.Server;
  readonly #to: net.NetConnectOpts;
  readonly #sockets = new Set<net.Socket>();
  #connections: TappedConnection[] = [];
  #wake: () => void = () => undefined;

  private constructor(to: net.NetConnectOpts) {
    this.#to = to;
    this.#server = net.createServer({ allowHalfOpen: true, noDelay: true }, (sidecar) => this.#onConnection(sidecar));
  }

  static async listen(to: net.NetConnectOpts): Promise<Tap> {
    const tap = new Tap(to);
    tap.port = await listening(tap.#server);
    return tap;
  }

  /** Everything since the last call, once the server has closed all connections. */
  async takeAll(): Promise<readonly TappedConnection[]> {
    while (this.#sockets.size > 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    const taken = this.#connections;
    this.#connections = [];
    return taken;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #onConnection(sidecar: net.Socket): void {
    const seen: TappedConnection = { toServer: '', fromServer: '' };
    this.#connections.push(seen);
    const server = net.connect({ ...this.#to, allowHalfOpen: true });
    this.#sockets.add(sidecar).add(server);
    let timer: NodeJS.Timeout | undefined;
    const leave = () => {
      server.end();
      timer ??= setTimeout(() => server.destroy(), HOLD_MS);
    };
    sidecar.on('error', () => undefined);
    server.on('error', () => undefined);
    sidecar.on('data', (bytes: Buffer) => {
      seen.toServer += bytes.toString('latin1');
      server.write(bytes);
    });
    server.on('data', (bytes: Buffer) => {
      seen.fromServer += bytes.toString('latin1');
      if (!sidecar.destroyed) sidecar.write(bytes);
    });
    // Only the client half-closes and still waits; the sidecar passes that on.
    sidecar.on('end', leave).on('close', leave);
    server.on('end', () => {
      sidecar.end();
      server.end();
    });
    server.on('close', () => {
      clearTimeout(timer);
      sidecar.destroySoon();
      this.#sockets.delete(sidecar);
      this.#sockets.delete(server);
      if (this.#sockets.size === 0) this.#wake();
    });
  }
}
