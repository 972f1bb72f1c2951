import type { IncomingMessage, ServerResponse } from 'node:http';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

const CODINGS: Readonly<Record<string, (text: string) => Buffer>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
};

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A handler whose bodies are compressed as the client accepts it, and sent in chunks of arbitrary length. */
export function compressing(handler: Handler): Handler {
  return (request, response) => {
    const coding = String(request.headers['accept-encoding']);
    const compress = CODINGS[coding];
    const end = response.end.bind(response) as (bytes?: Buffer) => ServerResponse;
    const endCompressed = (text?: unknown): ServerResponse => {
      if (typeof text !== 'string' || compress === undefined) return end();
      const bytes = compress(text);
      response.setHeader('Content-Encoding', coding);
      response.write(bytes.subarray(0, 1));
      response.write(bytes.subarray(1, bytes.length / 2));
      return end(bytes.subarray(bytes.length / 2));
    };
    response.end = endCompressed as typeof response.end;
    handler(request, response);
  };
}
