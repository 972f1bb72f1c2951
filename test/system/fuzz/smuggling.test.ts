/** The corpus of ambiguous messages, mutated: through both data paths to Node's own server, with every byte in between judged. */
import { afterAll, expect, it } from 'vitest';
import { ambiguousMessages } from '../../corpus/smuggling.ts';
import { deferTo } from '../../support/deferred.ts';
import { playsAll } from '../../support/effort.ts';
import { Random } from '../../support/fuzz/random.ts';
import { startNode } from '../../support/smuggling/servers.ts';
import { SETTINGS, startSmugglingStand } from '../../support/smuggling/smuggling-stand.ts';
import { readStrictly } from '../../support/smuggling/strict-reader.ts';
import { endsByItself, judge, MARKER } from '../../support/smuggling/verdict.ts';
import { mutated, pieces } from './request-corpus.ts';

/** FUZZ_CASES=100000 for a long run; FUZZ_SEED to repeat one. */
const CASES = Number(process.env.FUZZ_CASES ?? (playsAll ? 3_000 : 1_000));
const SEED = Number(process.env.FUZZ_SEED ?? 20_261);
/** Connections at a time, for each setting. */
const HARNESSES = 2;
/** Longer ones are mostly padding, and slow. */
const MAX_BYTES = 1_500;
const MAX_FAULTS = 20;

const defer = deferTo(afterAll);
const seeds = ambiguousMessages.filter(({ bytes }) => bytes.length <= MAX_BYTES);

/** Depends on seed and index only. */
function toCase(index: number) {
  const random = new Random(SEED + index);
  let text = random.chance(0.3) ? random.pick(seeds).bytes : '';
  text += random.pick(seeds).bytes;
  for (let i = random.below(4); i > 0; i -= 1) text = mutated(text, random);
  const isHalfClosed = !endsByItself(readStrictly(text + MARKER)) || random.chance(0.2);
  return { index, text, pieces: inPieces(text + MARKER, random), isHalfClosed };
}

/** Mostly whole or in two pieces, since each piece takes its time. */
function inPieces(text: string, random: Random): Buffer[] {
  if (random.chance(0.1)) return pieces(text, random);
  const bytes = Buffer.from(text, 'latin1');
  const at = random.chance(0.5) ? 0 : random.below(bytes.length);
  return at === 0 ? [bytes] : [bytes.subarray(0, at), bytes.subarray(at)];
}

it(`a server sees one reading of ${CASES} mutated messages, and nothing that was not sent`, {
  timeout: 3_600_000,
}, async () => {
  const server = await startNode(defer);
  const faults: string[] = [];
  const outcomes = { served: 0, refused: 0, closed: 0, open: 0 };
  let read = 0;
  let next = 0;
  const work = async (setting: (typeof SETTINGS)[number]) => {
    const harness = await startSmugglingStand(server, setting);
    try {
      while (next < CASES && faults.length < MAX_FAULTS) {
        const { index, text, pieces: chunks, isHalfClosed } = toCase(next);
        next += 1;
        const played = await harness.play(chunks, isHalfClosed);
        const verdict = judge(readStrictly(text + MARKER), played, setting.forwarded);
        outcomes[verdict.outcome] += 1;
        read += verdict.read;
        const about = `seed ${SEED}, case ${index}, ${setting.forwarded}: ${JSON.stringify(text)}`;
        faults.push(...verdict.faults.map((fault) => `${about}\n  ${fault}`));
      }
    } finally {
      await harness.close();
    }
  };
  await Promise.all(SETTINGS.flatMap((setting) => Array.from({ length: HARNESSES }, () => work(setting))));
  expect(faults).toEqual([]);
  // The comparison is valid only if all outcomes occur, and the server reads much of it.
  expect(read).toBeGreaterThan(CASES / 6);
  expect(outcomes.served).toBeGreaterThan(CASES / 25);
  expect(outcomes.refused).toBeGreaterThan(CASES / 4);
});
