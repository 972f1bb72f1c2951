import { describe, expect, it } from 'vitest';
import { parseExtensions } from '../../../../src/protocol/websocket/extensions.ts';
import { playsAll } from '../../../support/effort.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { Listener } from '../../../support/protocol/websocket/frames.ts';
import { binariesOf, converse, createUtterances, textsOf, type Utterance } from './conversation.ts';
import type { Capture } from './tap.ts';

const MESSAGES = playsAll ? 1_500 : 400;

function listen(capture: Capture, from: 'client' | 'upstream', sizeOfNext: () => number): Listener {
  const { extensions } = capture;
  if (extensions === 'unknown') throw new Error('unknown extension');
  const listener = new Listener({ from, deflate: extensions.deflate?.[from] });
  return listener.pushPieces(capture[from], sizeOfNext);
}

function expectHeard(listener: Listener, utterances: readonly Utterance[], about: string): void {
  const texts = textsOf(utterances);
  const read = listener.texts;
  expect(read.length, about).toBe(texts.length);
  for (const [i, text] of texts.entries()) if (text !== read[i]) expect.fail(`${about}: text ${i}`);
  const events = listener.told.filter((told) => !('text' in told));
  const binaries = Array.from({ length: binariesOf(utterances) }, () => ({ event: 'binary' }));
  expect(events, about).toEqual([...binaries, { event: 'close' }]);
  expect(listener.budget.usedBytes, about).toBe(0);
}

const TAKEOVERS = [true, false].flatMap((client) => [true, false].map((upstream) => ({ client, upstream })));

describe('traffic between two ends of the ws package', () => {
  for (const { client, upstream } of TAKEOVERS) {
    it(`is read whole, context takeover: client ${client}, upstream ${upstream}`, { timeout: 60_000 }, async () => {
      const random = new Random(Number(client) * 2 + Number(upstream) + 1);
      const utterances = { client: createUtterances(random, MESSAGES), upstream: createUtterances(random, MESSAGES) };
      const options = { clientNoContextTakeover: !client, serverNoContextTakeover: !upstream, threshold: 0 };
      const capture = await converse({ client: options, server: options }, utterances);
      expect(capture.extensions).toMatchObject({
        deflate: { client: { contextTakeover: client }, upstream: { contextTakeover: upstream } },
      });
      const pieces: Readonly<Record<string, () => number>> = {
        'all at once': () => Number.POSITIVE_INFINITY,
        'as sockets read': () => 65_536,
        'of any size': () => 1 + random.below(random.pick([3, 30, 300, 30_000])),
      };
      for (const [name, sizeOfNext] of Object.entries(pieces)) {
        for (const from of ['client', 'upstream'] as const) {
          expectHeard(listen(capture, from, sizeOfNext), utterances[from], `${from} ${name}`);
        }
      }
    });
  }

  it('is read byte by byte', async () => {
    for (const { client, upstream } of TAKEOVERS) {
      const random = new Random(9);
      const utterances = {
        client: createUtterances(random, 150, 2_000),
        upstream: createUtterances(random, 150, 2_000),
      };
      const options = { clientNoContextTakeover: !client, serverNoContextTakeover: !upstream, threshold: 0 };
      const capture = await converse({ client: options, server: options }, utterances);
      for (const from of ['client', 'upstream'] as const) {
        expectHeard(
          listen(capture, from, () => 1),
          utterances[from],
          `${from} ${client} ${upstream}`,
        );
      }
    }
  });

  it('is read with every size of window', { timeout: 60_000 }, async () => {
    for (const bits of [8, 9, 10, 11, 12, 13, 14, 15]) {
      const random = new Random(bits);
      const utterances = { client: createUtterances(random, 150), upstream: createUtterances(random, 150) };
      const options = { clientMaxWindowBits: bits, serverMaxWindowBits: bits, threshold: 0 };
      const capture = await converse({ client: options, server: options }, utterances);
      expect(capture.extensions).toMatchObject({
        deflate: { client: { windowBits: bits }, upstream: { windowBits: bits } },
      });
      for (const from of ['client', 'upstream'] as const) {
        expectHeard(
          listen(capture, from, () => 1_460),
          utterances[from],
          `${from} ${bits}`,
        );
      }
    }
  });

  it('is read without compression', async () => {
    const random = new Random(5);
    const utterances = { client: createUtterances(random, MESSAGES), upstream: createUtterances(random, MESSAGES) };
    const capture = await converse({ client: false, server: true }, utterances);
    expect(capture.extensions).toEqual(parseExtensions([]));
    for (const from of ['client', 'upstream'] as const) {
      expectHeard(
        listen(capture, from, () => 1 + random.below(3_000)),
        utterances[from],
        from,
      );
    }
  });
});
