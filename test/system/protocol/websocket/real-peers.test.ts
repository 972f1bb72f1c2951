import { expect, it } from 'vitest';
import type { PerMessageDeflateOptions } from 'ws';
import { playsAll } from '../../../support/effort.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { Listener } from '../../../support/protocol/websocket/frames.ts';
import { type Capture, converse, createUtterances, SIDES, type Side, type Utterance } from './conversation.ts';

const MESSAGES = playsAll ? 1_500 : 400;

interface Conversation {
  readonly seed: number;
  /** By default many, also large ones. */
  readonly messages?: number;
  readonly maxBytes?: number;
  /** What both ends are willing to do; false: the client does not compress. */
  readonly deflate: PerMessageDeflateOptions | false;
  /** What is agreed, as the reader takes it from the answer. */
  readonly agreed: object;
  /** How many bytes each read has. */
  readonly reads?: (random: Random) => readonly (() => number)[];
}

const readsOfAllKinds = (random: Random) => [
  ...[() => Number.POSITIVE_INFINITY, () => 65_536],
  () => 1 + random.below(random.pick([3, 30, 300, 30_000])),
];

const TAKEOVERS = [true, false].flatMap((client) => [true, false].map((upstream) => ({ client, upstream })));

const CONVERSATIONS: Record<string, Conversation> = {
  'without compression': { seed: 5, deflate: false, agreed: {} },
};
for (const { client, upstream } of TAKEOVERS) {
  const name = `with context takeover of the client ${client}, of the upstream ${upstream}`;
  const conversation: Conversation = {
    seed: Number(client) * 2 + Number(upstream) + 1,
    deflate: { clientNoContextTakeover: !client, serverNoContextTakeover: !upstream },
    agreed: { deflate: { client: { contextTakeover: client }, upstream: { contextTakeover: upstream } } },
  };
  Object.assign(CONVERSATIONS, {
    [name]: conversation,
    [`${name}, byte by byte`]: { ...conversation, messages: 150, maxBytes: 2_000, reads: () => [() => 1] },
  });
}
for (const windowBits of [8, 9, 10, 11, 12, 13, 14, 15]) {
  CONVERSATIONS[`with windows of ${windowBits} bits`] = {
    ...{ seed: windowBits, messages: 150, reads: () => [() => 1_460] },
    deflate: { clientMaxWindowBits: windowBits, serverMaxWindowBits: windowBits },
    agreed: { deflate: { client: { windowBits }, upstream: { windowBits } } },
  };
}

it.each(Object.entries(CONVERSATIONS))(
  'traffic between two ends of the ws package is read whole %s',
  async (_, { seed, messages = MESSAGES, maxBytes, deflate, agreed, reads = readsOfAllKinds }) => {
    const random = new Random(seed);
    const [client, upstream] = SIDES.map(() => createUtterances(random, messages, maxBytes)) as [
      Utterance[],
      Utterance[],
    ];
    const options = deflate && { ...deflate, threshold: 0 };
    const capture = await converse({ client: options, server: options || true }, { client, upstream });
    expect(capture.extensions).toMatchObject(agreed);
    for (const sizeOfNext of reads(random)) {
      expectHeard(capture, 'client', client, sizeOfNext);
      expectHeard(capture, 'upstream', upstream, sizeOfNext);
    }
  },
  60_000,
);

function expectHeard(capture: Capture, from: Side, said: readonly Utterance[], sizeOfNext: () => number): void {
  const { extensions } = capture;
  if (extensions === 'unknown') throw new Error('unknown extension');
  const listener = new Listener({ from, deflate: extensions.deflate?.[from] }).pushPieces(capture[from], sizeOfNext);
  const texts = said.filter(({ kind }) => kind === 'text').map(({ content }) => content.toString('utf8'));
  const read = listener.texts;
  expect(read.length, from).toBe(texts.length);
  for (const [i, text] of texts.entries()) if (text !== read[i]) expect.fail(`${from}: text ${i}`);
  const binaries = said.filter(({ kind }) => kind === 'binary').map(() => ({ event: 'binary' }));
  expect(listener.told.filter((told) => !('text' in told))).toEqual([...binaries, { event: 'close' }]);
  expect(listener.budget.usedBytes).toBe(0);
}
