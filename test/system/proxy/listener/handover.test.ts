/**
 * A login may belong to a connection (NTLM, Negotiate). So all requests of a client's connection reach the server on
 * one connection, whichever data path serves them. The server here answers with the number of the connection.
 */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { UpstreamTls } from '../../../../src/config/config.ts';
import { listening } from '../../../support/net.ts';
import { CertificateFolder, textOf } from '../../../support/tls/certificates.ts';
import { type RunningSidecar, startSidecar } from '../../../support/wire/data-paths.ts';

const WEBSOCKET =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';

/** One request for each reason of a handover that reaches the server. */
const HANDED_OVER = [
  ['start-line', 'GET http://plant.example/a HTTP/1.1\r\nHost: plant.example\r\n\r\n'],
  ['host', 'GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'],
  ['upgrade', `GET /socket HTTP/1.1\r\nHost: plant.example\r\n${WEBSOCKET}\r\n`],
  ['framing', 'POST /a HTTP/1.1\r\nHost: plant.example\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
] as const;

const RELAYED = 'GET /a HTTP/1.1\r\nHost: plant.example\r\n\r\n';

/** Answers with its number, and speaks of it again in a WebSocket. */
class NumberedServer {
  readonly sockets: net.Socket[] = [];
  readonly server: net.Server;

  constructor(tlsOptions?: tls.TlsOptions) {
    this.server = tlsOptions ? tls.createServer(tlsOptions, this.#serve) : net.createServer(this.#serve);
  }

  readonly #serve = (socket: net.Socket): void => {
    const number = this.sockets.push(socket);
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end);
        text = text.slice(end + 4);
        const isUpgrade = /^upgrade: websocket/im.test(head);
        // The end of a body in chunks is no head.
        if (isUpgrade) socket.write('HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
        if (head !== '0') socket.write(isUpgrade ? `<${number}>` : answer(number));
      }
    });
  };

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

function answer(number: number): string {
  const body = `<${number}>`;
  return `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

class Client {
  readonly socket: net.Socket;
  #text = '';
  #seen = 0;

  constructor(port: number) {
    this.socket = net.connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('data', (bytes: Buffer) => {
      this.#text += bytes.toString('latin1');
    });
  }

  /** The number of the connection that the server answers with. */
  async ask(request: string): Promise<string> {
    this.socket.write(request);
    this.#seen += 1;
    await expect.poll(() => this.#numbers.length, { interval: 5 }).toBe(this.#seen);
    return this.#numbers.at(-1) ?? '';
  }

  get #numbers(): string[] {
    return this.#text.match(/<\d+>/g) ?? [];
  }
}

describe('a handover to the gateway', () => {
  const closing: (() => unknown)[] = [];
  const folder = new CertificateFolder();

  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  afterAll(() => folder.remove());

  async function start(upstreamTls?: UpstreamTls, tlsOptions?: tls.TlsOptions) {
    const upstream = new NumberedServer(tlsOptions);
    const upstreamPort = await listening(upstream.server);
    closing.push(() => upstream.close());
    const sidecar: RunningSidecar = await startSidecar({ dataPath: 'auto', upstreamPort, upstreamTls });
    closing.push(() => sidecar.close());
    const connect = () => {
      const client = new Client(sidecar.port);
      closing.push(() => client.socket.destroy());
      return client;
    };
    return { upstream, connect };
  }

  describe.each(HANDED_OVER)('for %s', (_reason, request) => {
    it('takes the connection to the server along', async () => {
      const { upstream, connect } = await start();
      const other = connect();
      await other.ask(RELAYED);
      const client = connect();
      expect(await client.ask(RELAYED)).toBe('<2>');
      expect(await client.ask(RELAYED)).toBe('<2>');
      expect(await client.ask(request)).toBe('<2>');
      if (!request.includes('websocket')) expect(await client.ask(RELAYED)).toBe('<2>');
      expect(upstream.sockets).toHaveLength(2);
      client.socket.destroy();
      await once(upstream.sockets[1] as net.Socket, 'close');
    });

    it('takes a connection with TLS along', async () => {
      const authority = folder.authority();
      const own = folder.signed(authority, { name: 'localhost' });
      const upstreamTls = { certFile: undefined, keyFile: undefined, serverName: 'localhost', verify: true };
      const { connect } = await start(
        { ...upstreamTls, caFile: authority.certFile },
        { cert: textOf(own.certFile), key: textOf(own.keyFile) },
      );
      const client = connect();
      expect(await client.ask(RELAYED)).toBe('<1>');
      expect(await client.ask(request)).toBe('<1>');
    });
  });

  it('dials anew where the server has closed its connection', async () => {
    const { upstream, connect } = await start();
    const client = connect();
    expect(await client.ask(RELAYED)).toBe('<1>');
    upstream.sockets[0]?.destroy();
    await once(upstream.sockets[0] as net.Socket, 'close');
    expect(await client.ask(HANDED_OVER[0][1])).toBe('<2>');
  });

  it.each(['server', 'client'])('leaves a reset by the %s inside a WebSocket a reset', async (side) => {
    const { upstream, connect } = await start();
    const client = connect();
    await client.ask(RELAYED);
    await client.ask(HANDED_OVER[2][1]);
    const server = upstream.sockets[0] as net.Socket;
    const [from, to] = side === 'server' ? [server, client.socket] : [client.socket, server];
    const reset = once(to, 'error');
    from.resetAndDestroy();
    expect((await reset)[0]).toMatchObject({ code: 'ECONNRESET' });
  });

  it('passes on large answers of a connection that was taken along', async () => {
    const { upstream, connect } = await start();
    const client = connect();
    await client.ask(RELAYED);
    await client.ask(HANDED_OVER[2][1]);
    const received: Buffer[] = [];
    client.socket.on('data', (bytes: Buffer) => received.push(bytes));
    const sent = Buffer.alloc(3_000_000, 'abcdefghij');
    upstream.sockets[0]?.end(sent);
    await once(client.socket, 'end');
    expect(Buffer.concat(received).equals(sent)).toBe(true);
  });
});
