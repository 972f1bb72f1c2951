/** Comet bodies with a content coding pass unchanged in both directions; which are read depends on the decoder's safety. */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Stand } from '../support/wire/stand.ts';

// Both kinds of Node.js are tested, whichever runs the tests.
vi.mock('../../src/base/advisories.ts');

const REQUEST = JSON.stringify([{ channel: '/meta/handshake', id: '1', version: '1.0' }]);
const RESPONSE = JSON.stringify([{ channel: '/meta/handshake', id: '1', clientId: 'abcdefgh', successful: true }]);

type Encode = (bytes: Buffer) => Buffer;
const plain: Encode = (bytes) => bytes;

let stand: Stand;
let hasSafeBrotli: typeof import('../../src/base/advisories.ts').hasSafeBrotli;
beforeAll(async () => {
  // Other tests of this worker may have loaded the modules before they were mocked.
  vi.resetModules();
  ({ hasSafeBrotli } = await import('../../src/base/advisories.ts'));
  const { startStand } = await import('../support/wire/stand.ts');
  stand = await startStand();
});
afterAll(() => stand.close());

function message(start: string, field: string, body: Buffer): string {
  const coding = field === '' ? '' : `Content-Encoding: ${field}\r\n`;
  return `${start}\r\n${coding}Connection: close\r\nContent-Length: ${body.length}\r\n\r\n${body.toString('latin1')}`;
}

const numbers = () => {
  const { unread, counts } = stand.sidecar.recorder.own.comet;
  return { client: counts.clientMessages, upstream: counts.upstreamMessages, unread: unread['content-coding'] };
};

/** One exchange; what it adds to the numbers once both of its bodies are read or given up. */
async function counted(request: readonly [string, Encode], response: readonly [string, Encode]) {
  const before = numbers();
  const [requestBody, responseBody] = [request[1](Buffer.from(REQUEST)), response[1](Buffer.from(RESPONSE))];
  const head = 'POST /smartWeb/api/cometd/handshake HTTP/1.1\r\nHost: plant\r\nContent-Type: application/json';
  const [client, upstream] = await stand.ask(message(head, request[0], requestBody));
  expect((await upstream.response()).body).toBe(requestBody.toString('latin1'));
  upstream.finish(message('HTTP/1.1 200 OK', response[0], responseBody));
  expect((await client.response()).body).toBe(responseBody.toString('latin1'));
  const added = () => {
    const { client: sent, upstream: received, unread } = numbers();
    return [sent - before.client, received - before.upstream, unread - before.unread];
  };
  await expect.poll(() => added().reduce((sum, count) => sum + count)).toBe(2);
  const [fromClient, fromUpstream, unread] = added();
  return { fromClient, fromUpstream, unread };
}

describe.each([false, true])('with a safe brotli decoder: %s', (isSafe) => {
  beforeEach(() => void vi.mocked(hasSafeBrotli).mockReturnValue(isSafe));
  const unread = isSafe ? 0 : 1;

  it('a body in brotli is read only then, and otherwise counted', async () => {
    const request = await counted(['br', brotliCompressSync], ['', plain]);
    expect(request).toEqual({ fromClient: 1 - unread, fromUpstream: 1, unread });
    const answer = await counted(['', plain], ['Br, identity', brotliCompressSync]);
    expect(answer).toEqual({ fromClient: 1, fromUpstream: 1 - unread, unread });
  });

  it('gzip and deflate are read in both directions, and two codings never', async () => {
    const read = await counted(['x-GZIP', gzipSync], ['deflate', deflateSync]);
    expect(read).toEqual({ fromClient: 1, fromUpstream: 1, unread: 0 });
    const both: Encode = (bytes) => gzipSync(brotliCompressSync(bytes));
    expect(await counted(['', plain], ['br, gzip', both])).toEqual({ fromClient: 1, fromUpstream: 0, unread: 1 });
  });
});
