import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import type { Socket } from 'node:net';
import { listening } from '../../net.ts';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export type ScriptedServer = Awaited<ReturnType<typeof startScripted>>;
export type Script = (request: SeenRequest, response: ServerResponse) => void;

/** A server that answers each request as `script` says; it knows the requests, and the open sockets. With `tls`, over TLS. */
export async function startScripted(script: Script, tls?: ServerOptions) {
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.on('request', (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const seen = { method, url, headers, body };
      requests.push(seen);
      script(seen, response);
    });
  });
  const port = await listening(server);
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    requests,
    sockets,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      if (server.listening) await once(server, 'close');
    },
  };
}

/** 100 MB of `chunk` again and again, as fast as it is taken, until the peer is gone. */
export class Flood {
  /** What was written so far. */
  bytes = 0;
  readonly #chunk: Buffer;

  constructor(chunk: string | Buffer) {
    // No copy: sockets keep it.
    this.#chunk = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
  }

  readonly script: Script = (_, response) => {
    const pump = () => {
      while (!response.destroyed && this.bytes < 100_000_000) {
        const piece = this.#chunk.subarray(0, 100_000_000 - this.bytes);
        this.bytes += piece.length;
        if (!response.write(piece)) return void response.once('drain', pump);
      }
      response.end();
    };
    pump();
  };
}
