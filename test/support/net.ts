import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import net, { type AddressInfo, type Server } from 'node:net';
import { freePorts } from '../bench/load/ports.ts';
import type { Defer } from './deferred.ts';

/** Lets the server listen on a free port of 127.0.0.1; resolves with the port. */
export async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** A port on loopback without a listener, which nobody else is given. */
export async function toUnusedPort(): Promise<number> {
  const [port = 0] = await freePorts(1);
  return port;
}

export function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  /** The content as received. */
  readonly bytes: Buffer;
  readonly body: string;
}

export type Sending = https.RequestOptions & { readonly body?: string };

/** Sends one request as it is to a port of 127.0.0.1, without `agent` on its own connection. Rejects without a whole answer. */
export function send(port: number, path: string, { body, ...options }: Sending = {}): Promise<Answer> {
  const { request: open } = options.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const request = open({ host: '127.0.0.1', port, path, agent: false, ...options });
    const answer = ({ statusCode: status = 0, headers }: IncomingMessage, ...chunks: readonly Buffer[]) => {
      const bytes = Buffer.concat(chunks);
      resolve({ status, headers, bytes, body: bytes.toString('utf8') });
    };
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject);
      response.on('end', () => answer(response, ...chunks));
    });
    // A refused CONNECT has its own event.
    request.on('connect', (response, socket) => {
      socket.destroy();
      answer(response);
    });
    request.on('error', reject).end(body);
  });
}

/** A call, e.g. `rpc/E.Demo/Run`: an RPC by POST, all else by GET; as a user with the password `secret`, or as nobody. */
export function restCall(port: number, path: string, user?: string, options: Sending = {}): Promise<Answer> {
  const method = path.startsWith('rpc/') ? 'POST' : 'GET';
  const headers = {
    ...(user !== undefined && { authorization: `Basic ${Buffer.from(`${user}:secret`).toString('base64')}` }),
    ...options.headers,
  };
  return send(port, `/smartWeb/api/rest/v0/d2/${path}`, { method, ...options, headers });
}

export type Application = Awaited<ReturnType<typeof startApplication>>;

/** An application server that calls `handle` for each request once its content has arrived. `defer`: closes it at the end. */
export async function startApplication(
  handle: (request: IncomingMessage, response: ServerResponse, body: string) => void,
  defer?: Defer,
) {
  const server = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('error', () => undefined).on('end', () => handle(request, response, body));
  });
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  defer?.(close);
  return { port: await listening(server), server, close };
}

/** Sends bytes as they are; resolves to all that comes back until the connection ends, or until `last` has come. */
export async function exchange(port: number, request: string, last?: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1').on('error', () => undefined);
  socket.setEncoding('latin1').write(request, 'latin1');
  let text = '';
  socket.on('data', (some: string) => {
    text += some;
    if (last !== undefined && text.includes(last)) socket.destroy();
  });
  await new Promise((resolve) => socket.once('close', resolve));
  return text;
}
