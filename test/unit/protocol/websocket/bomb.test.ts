/** A little that unpacks to very much costs no more memory than the limit: counted by the buffers that zlib asks for. */
import * as zlib from 'node:zlib';
import { afterEach, expect, it, vi } from 'vitest';
import { decodeContent } from '../../../../src/protocol/http1/content-coding.ts';
import { compressed, deflated } from '../../../support/protocol/websocket/frames.ts';
import { Listener, WITH_TAKEOVER, WITHOUT_TAKEOVER } from '../../../support/protocol/websocket/listener.ts';

const MAX_INFLATED_BYTES = 4_194_304;
/** What is inflated up to the limit, its last piece, and the copy of what was sent. */
const MAX_ALLOCATED_BYTES = MAX_INFLATED_BYTES + 300_000;
const ZEROS = Buffer.alloc(64 * 1_024 ** 2);

afterEach(() => void vi.restoreAllMocks());

/** Bytes of all buffers that are made while `work` runs. */
function allocatedBytes(work: () => void): number {
  const made = vi.spyOn(Buffer, 'allocUnsafe');
  work();
  return made.mock.calls.reduce((sum, [bytes]) => sum + bytes, 0);
}

const brotli = zlib.brotliCompressSync(ZEROS, {
  params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1, [zlib.constants.BROTLI_PARAM_LGWIN]: 22 },
});

it.each([WITH_TAKEOVER, WITHOUT_TAKEOVER])('64 MiB of zeros in a message are not inflated, %o', (deflate) => {
  const bomb = compressed(deflated(ZEROS));
  const listener = new Listener({ deflate, maxMessageBytes: 1_100_000, maxInflatedBytes: MAX_INFLATED_BYTES });
  expect(allocatedBytes(() => listener.reader.push(bomb))).toBeLessThan(MAX_ALLOCATED_BYTES);
  expect(listener.told).toEqual([{ unread: 'inflated-too-large' }]);
  expect([listener.reader.heldBytes, listener.budget.usedBytes]).toEqual([0, 0]);
  listener.push(compressed(deflated('after')));
  expect(listener.texts).toEqual(deflate.contextTakeover ? [] : ['after']);
});

it.each([
  ['gzip', zlib.gzipSync(ZEROS)],
  ['br', brotli],
  ['br, gzip', zlib.gzipSync(brotli)],
])('64 MiB of zeros in a body of %s are not decoded', (coding, body) => {
  const decode = () => expect(decodeContent(body, coding, MAX_INFLATED_BYTES, true)).toBeUndefined();
  expect(allocatedBytes(decode)).toBeLessThan(MAX_ALLOCATED_BYTES);
});
