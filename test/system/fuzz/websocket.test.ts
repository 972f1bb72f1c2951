import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { playsAll } from '../../support/effort.ts';
import { Random } from '../../support/fuzz/random.ts';
import { Listener } from '../../support/protocol/websocket/listener.ts';
import { mutated, recordCorpus, type Said } from './websocket-corpus.ts';

/** Streams of some 20 frames. FUZZ_CASES=60000 for a million frames; FUZZ_SEED to repeat a run. */
const CASES = Number(process.env.FUZZ_CASES ?? 300);
const SEED = Number(process.env.FUZZ_SEED ?? 20_260);
const MAX_MESSAGE_BYTES = 10_000;
const MAX_WINDOW_BYTES = 36_864;

function read(said: Said, bytes: Buffer, sizeOfNext: () => number, maxMessageBytes = MAX_MESSAGE_BYTES): Listener {
  const limits = { maxMessageBytes, maxInflatedBytes: 10 * maxMessageBytes };
  const listener = new Listener({ from: said.from, deflate: said.deflate, ...limits });
  for (let at = 0; at < bytes.length; ) {
    const size = sizeOfNext();
    listener.push(bytes.subarray(at, at + size));
    at += size;
    const { heldBytes } = listener.reader;
    if (heldBytes > maxMessageBytes + MAX_WINDOW_BYTES || heldBytes !== listener.budget.usedBytes) {
      throw new Error(`holds ${heldBytes}, of the budget ${listener.budget.usedBytes}`);
    }
  }
  return listener;
}

it('the WebSocket reader reads all that two ends of the ws package say, in pieces of any size', async () => {
  const random = new Random(SEED);
  for (const said of await recordCorpus(playsAll ? 72 : 18, 300_000)) {
    const bytes = Buffer.concat(said.frames);
    for (const most of [1, 30, 1_460, 65_536, bytes.length]) {
      const listener = read(said, bytes, () => (most < 65_536 ? 1 + random.below(most) : most), 400_000);
      const heard = listener.told.map((told) => ('text' in told ? told.text : told));
      const sent = said.messages.map((text) => text ?? { event: 'binary' });
      expect(isDeepStrictEqual(heard, [...sent, { event: 'close' }]), `${said.from}, pieces of ${most}`).toBe(true);
      expect(listener.budget.usedBytes).toBe(0);
    }
  }
}, 60_000);

it(`the WebSocket reader reads ${CASES} damaged streams alike in pieces of any size, and keeps nothing of them`, {
  timeout: 36_000_000,
}, async () => {
  const random = new Random(SEED);
  const corpus = await recordCorpus(18, 2_000);
  const counts = { texts: 0, unread: 0 };
  for (let i = 0; i < CASES; i += 1) {
    const said = random.pick(corpus);
    const bytes = Buffer.concat(mutated(said, corpus, random));
    const about = `seed ${SEED}, case ${i}, ${said.from} ${JSON.stringify(said.deflate)}: ${bytes.toString('base64')}`;
    const most = random.pick([2, 20, 500, 70_000]);
    const listener = read(said, bytes, () => 1 + random.below(most));
    expect(read(said, bytes, () => bytes.length).told, about).toEqual(listener.told);
    counts.texts += listener.texts.length;
    counts.unread += Number(listener.reader.isUnread);
    listener.reader.close();
    expect(listener.budget.usedBytes, about).toBe(0);
  }
  // The comparison is valid only if most is read, and much is damaged.
  expect(counts.texts).toBeGreaterThan(5 * CASES);
  expect(counts.unread).toBeGreaterThan(CASES / 10);
});
