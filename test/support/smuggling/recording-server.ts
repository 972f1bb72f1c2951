import { createHash } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { ListenOptions } from 'node:net';
import type { Defer } from '../deferred.ts';

/** Requests for this path are answered without reading their body: the start of a CL.0 or 0.CL desync. */
export const EARLY_PATH = '/early';

/** Answers each request with its own reading of it, `X-Seen: POST /m 5:aaf4c61ddcc5`: length and SHA-1 of the body (`-`: not read). */
export async function startRecordingServer(defer: Defer, listen: ListenOptions): Promise<http.Server> {
  const server = http.createServer((request, response) => {
    if (request.url === EARLY_PATH) {
      answer(request, response, '-');
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => answer(request, response, digestOf(Buffer.concat(chunks))));
  });
  await new Promise<void>((resolve) => {
    server.listen(listen, resolve);
  });
  defer(() => server.close().closeAllConnections());
  return server;
}

/** Length and the beginning of the SHA-1, e.g. `5:aaf4c61ddcc5`. */
export function digestOf(body: Buffer): string {
  return `${body.length}:${createHash('sha1').update(body).digest('hex').slice(0, 12)}`;
}

function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
  response.setHeader('X-Seen', `${request.method} ${request.url} ${body}`);
  response.end('seen');
}
