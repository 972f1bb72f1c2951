import http from 'node:http';
import { Duplex } from 'node:stream';

/** A request as a parser understood it; latin1. */
export interface ParsedRequest {
  readonly method: string;
  readonly target: string;
  readonly body: string;
}

export interface Reading {
  /** Requests read to their last byte. */
  readonly requests: readonly ParsedRequest[];
  /** Bytes after these were refused. */
  readonly isRejected: boolean;
}

/** The reading of a client's bytes by Node's own strict parser, in a real `http.Server` over a stream in memory. */
export async function readWithNode(chunks: readonly Buffer[]): Promise<Reading> {
  const requests: ParsedRequest[] = [];
  let isRejected = false;
  const server = http.createServer({ keepAliveTimeout: 0, requireHostHeader: true }, (request, response) => {
    let body = '';
    request.setEncoding('latin1');
    request.on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      requests.push({ method: request.method ?? '', target: request.url ?? '', body });
      response.end();
    });
  });
  // The upstream answers expectations; here only the parser matters.
  for (const event of ['checkContinue', 'checkExpectation']) {
    server.on(event, (request, response) => server.emit('request', request, response));
  }
  server.on('connect', () => {
    isRejected = true;
  });
  server.on('clientError', () => {
    isRejected = true;
  });
  const socket = new Duplex({ allowHalfOpen: true, read: () => undefined, write: (_chunk, _encoding, done) => done() });
  socket.on('error', () => undefined);
  server.emit('connection', socket);
  for (const chunk of chunks) socket.push(chunk);
  // The parser runs as the stream flows, over a few turns of the queue.
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  socket.destroy();
  return { requests, isRejected };
}
