import { expect, it } from 'vitest';
import { Random } from './random.ts';
import { readWithNode } from './reference-parser.ts';
import { readWithRelay } from './relay-reader.ts';
import { mutatedRequests, pieces } from './request-corpus.ts';

/** FUZZ_CASES=1000000 for a long run; FUZZ_SEED to repeat one. */
const CASES = Number(process.env.FUZZ_CASES ?? 10_000);
const SEED = Number(process.env.FUZZ_SEED ?? 20_260);
const MAX_HEAD_BYTES = 16 * 1024;

/** Ends any head and any chunk line that a mutation left open, so that both parsers must decide. */
const TERMINATOR = '\r\n\r\n';

it(`frames ${CASES} mutated streams as Node's strict parser does, and takes nothing that it rejects`, {
  timeout: 3_600_000,
}, async () => {
  const random = new Random(SEED);
  const ends = { gateway: 0, refused: 0, last: 0, waiting: 0 };
  let taken = 0;
  for (let i = 0; i < CASES; i += 1) {
    const text = mutatedRequests(random) + TERMINATOR;
    const chunks = pieces(text, random);
    const relay = readWithRelay(chunks, MAX_HEAD_BYTES);
    const node = await readWithNode(chunks);
    const about = `seed ${SEED}, case ${i}: ${JSON.stringify(text)}`;
    ends[relay.end] += 1;
    taken += relay.requests.length;
    expect(node.requests.slice(0, relay.requests.length), about).toEqual(relay.requests);
    // What Node refuses, the relay must not go on with; it may only leave more to the gateway than Node refuses.
    if (node.isRejected && relay.requests.length === node.requests.length) {
      expect(['gateway', 'refused', 'last'], about).toContain(relay.end);
    }
  }
  // The comparison means something only if all ways of ending are met often.
  expect(taken).toBeGreaterThan(CASES / 4);
  expect(ends.gateway).toBeGreaterThan(CASES / 20);
  expect(ends.refused).toBeGreaterThan(CASES / 100);
});
