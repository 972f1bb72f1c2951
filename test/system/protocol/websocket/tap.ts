import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { type AgreedExtensions, parseExtensions } from '../../../../src/protocol/websocket/extensions.ts';

/** The bytes of a tapped connection after its upgrade. */
export interface Capture {
  readonly client: Buffer;
  readonly upstream: Buffer;
  readonly extensions: AgreedExtensions | 'unknown';
}

const END_OF_HEAD = '\r\n\r\n';

function behindHead(bytes: Buffer): { head: string; rest: Buffer } {
  const end = bytes.indexOf(END_OF_HEAD) + END_OF_HEAD.length;
  return { head: bytes.toString('latin1', 0, end), rest: bytes.subarray(end) };
}

/** Stands between two peers and keeps a copy of all that passes in either direction. */
export class Tap {
  readonly #upstreamPort: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #connections: { client: Buffer[]; upstream: Buffer[] }[] = [];

  constructor(upstreamPort: number) {
    this.#upstreamPort = upstreamPort;
    this.#server = createServer((socket) => this.#onConnection(socket));
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  /** The connections that upgraded. */
  captures(): Capture[] {
    return this.#connections.flatMap((connection) => {
      const client = behindHead(Buffer.concat(connection.client));
      const upstream = behindHead(Buffer.concat(connection.upstream));
      if (!upstream.head.startsWith('HTTP/1.1 101')) return [];
      const fields = [...upstream.head.matchAll(/^Sec-WebSocket-Extensions:(.*)\r$/gim)];
      const extensions = parseExtensions(fields.map((field) => field[1] as string));
      return [{ client: client.rest, upstream: upstream.rest, extensions }];
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #onConnection(client: Socket): void {
    const upstream = connect(this.#upstreamPort, '127.0.0.1');
    const connection = { client: [] as Buffer[], upstream: [] as Buffer[] };
    this.#connections.push(connection);
    this.#forward(client, upstream, connection.client);
    this.#forward(upstream, client, connection.upstream);
  }

  #forward(from: Socket, to: Socket, copies: Buffer[]): void {
    this.#sockets.add(from);
    from.on('data', (chunk) => {
      copies.push(Buffer.from(chunk));
      to.write(chunk);
    });
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
  }
}
