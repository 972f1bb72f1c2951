import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { reservePort } from '../../bench/load/ports.ts';
import { type Pair, pemOf } from '../tls/certificates.ts';

/** What an upstream does with a connection; its first one is the 1st. */
export type Serve = (socket: net.Socket, nth: number) => void;

/** An upstream of raw sockets, which speaks TLS if it has a certificate. It can go down and come up again on its port. */
export class RawUpstream {
  port = 0;
  /** All so far; with TLS, those whose handshake has succeeded. */
  readonly connections: net.Socket[] = [];
  readonly #own: Pair | undefined;
  readonly #open = new Set<net.Socket>();
  #server: net.Server | undefined;

  constructor(own?: Pair) {
    this.#own = own;
  }

  async comeUp(serve?: Serve): Promise<void> {
    const options = { allowHalfOpen: true, noDelay: true };
    const server =
      this.#own === undefined ? net.createServer(options) : tls.createServer({ ...options, ...pemOf(this.#own) });
    server.on('connection', (socket: net.Socket) => {
      this.#open.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#open.delete(socket));
    });
    server.on(this.#own === undefined ? 'connection' : 'secureConnection', (socket: net.Socket) => {
      socket.on('error', () => undefined);
      serve?.(socket, this.connections.push(socket));
    });
    await once(server.listen(this.port, '127.0.0.1'), 'listening');
    this.port = (server.address() as net.AddressInfo).port;
    this.#server = server;
  }

  /** Like the end of the process: no listener, and every connection is closed. */
  async goDown(): Promise<void> {
    for (const socket of this.#open) socket.destroy();
    const server = this.#server;
    this.#server = undefined;
    if (server === undefined) return;
    await once(server.close(), 'close');
    await reservePort(this.port);
  }

  async nextConnection(): Promise<net.Socket> {
    const [socket] = await once(this.#server as net.Server, 'connection');
    return socket as net.Socket;
  }
}
