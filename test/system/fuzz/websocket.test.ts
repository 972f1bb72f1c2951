import { isUtf8 } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { playsAll } from '../../support/effort.ts';
import { Random } from '../../support/fuzz/random.ts';
import { Listener, type Told } from '../../support/protocol/websocket/listener.ts';
import { mutated, recordCorpus, type Said } from './websocket-corpus.ts';
import { readWithWs, type WsReading } from './websocket-reference.ts';

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

type Verdict = 'same' | 'beyond' | 'wrong';

/**
 * Whether everything reported was also read by ws. `beyond`: ws gave up at a message that does not inflate; without context
 * takeover that is no reason to stop, and nothing is left to compare with.
 */
function compare(said: Said, told: readonly Told[], heard: WsReading): Verdict {
  const isAlone = said.deflate?.contextTakeover === false;
  let next = 0;
  for (const item of told) {
    if ('event' in item && item.event === 'close') continue;
    const message = heard.messages[next];
    next += 1;
    const isLost = 'unread' in item && item.unread !== 'text';
    if (message === undefined) {
      if (isLost) continue;
      return isAlone && heard.error?.startsWith('Z_') ? 'beyond' : 'wrong';
    }
    if (isLost) continue;
    if ('event' in item ? !message.isBinary : message.isBinary) return 'wrong';
    if ('text' in item && item.text !== message.data.toString('utf8')) return 'wrong';
    if (!('event' in item) && 'text' in item !== isUtf8(message.data)) return 'wrong';
  }
  return 'same';
}

it(`the WebSocket reader reads nothing from ${CASES} damaged streams that the ws package would not`, {
  timeout: 36_000_000,
}, async () => {
  const random = new Random(SEED);
  const corpus = await recordCorpus(18, 2_000);
  const verdicts = { same: 0, beyond: 0, wrong: 0 };
  const counts = { texts: 0, heard: 0, unread: 0, endedStreams: 0 };
  for (let i = 0; i < CASES; i += 1) {
    const said = random.pick(corpus);
    const bytes = Buffer.concat(mutated(said, corpus, random));
    const about = `seed ${SEED}, case ${i}, ${said.from} ${JSON.stringify(said.deflate)}: ${bytes.toString('base64')}`;
    const most = random.pick([2, 20, 500, 70_000]);
    const listener = read(said, bytes, () => 1 + random.below(most));
    if (i % 10 === 0) expect(read(said, bytes, () => bytes.length).told, about).toEqual(listener.told);
    const heard = await readWithWs(said, bytes);
    let verdict = compare(said, listener.told, heard);
    if (verdict === 'wrong' && heard.hasEndedStream) {
      counts.endedStreams += 1;
      verdict = 'beyond';
    }
    if (verdict === 'wrong') expect.fail(`${about}\nws gave up with ${heard.error}`);
    verdicts[verdict] += 1;
    listener.reader.close();
    expect(listener.budget.usedBytes, about).toBe(0);
    counts.texts += listener.texts.length;
    counts.heard += heard.messages.filter(({ isBinary, data }) => !isBinary && isUtf8(data)).length;
    counts.unread += Number(listener.reader.isUnread);
  }
  // The comparison is valid only if most is read, much is damaged, and little escapes it.
  expect(counts.texts).toBeGreaterThan(0.95 * counts.heard);
  expect(counts.unread).toBeGreaterThan(CASES / 10);
  expect(verdicts.same).toBeGreaterThan(0.9 * CASES);
  expect(counts.endedStreams).toBeLessThan(Math.max(3, CASES / 100));
});
