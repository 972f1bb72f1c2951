/** Damaged answers. No crash, and never a number that cannot be, whatever the text. */
import { expect, it } from 'vitest';
import { type LiveValues, layOver } from '../../../../src/jvm/attach/live-values.ts';
import { parseCodeCache, parseFlags, parseHeapInfo, parseMetaspace } from '../../../../src/jvm/attach/parse-answers.ts';
import { Random } from '../../../support/fuzz/random.ts';
import { answerOf, SAMPLES } from '../../../support/jvm/attach/samples.ts';
import { impossibleIn } from '../../../support/jvm/impossible.ts';
import { NO_READING } from '../../../support/jvm/no-reading.ts';

const MUTATIONS = 20_000;
const PARSERS = {
  heap_info: (text: string): LiveValues => ({ heap: parseHeapInfo(text) }),
  'metaspace-basic': (text: string): LiveValues => ({ metaspace: parseMetaspace(text) }),
  codecache: (text: string): LiveValues => ({ codeHeaps: parseCodeCache(text) }),
  flags: (text: string): LiveValues => ({ flags: parseFlags(text) }),
};
const QUESTIONS = ['heap_info', 'metaspace-basic', 'codecache', 'flags'] as const;
const PIECES = ['0', '9', '99999999999999999999', '-1', '-', 'x', 'K', 'M', '\n', ' ', '\0', 'used', ',', 'é', '0x'];

function mutate(text: string, random: Random): string {
  let mutated = text;
  for (let times = 1 + random.below(4); times > 0; times -= 1) {
    const at = random.below(mutated.length + 1);
    const length = random.chance(0.25) ? random.below(60) : random.below(3);
    const start = random.below(text.length);
    const piece = random.pick([
      random.pick(PIECES),
      '',
      text.slice(start, start + random.below(40)),
      String.fromCharCode(32 + random.below(95)),
      String(random.below(10)),
    ]);
    mutated = mutated.slice(0, at) + piece + mutated.slice(at + length);
  }
  return random.chance(0.05) ? mutated.slice(0, random.below(mutated.length + 1)) : mutated;
}

it('never reads an impossible number from a damaged answer', () => {
  const random = new Random(20_260_101);
  const samples = SAMPLES.map(({ name, collector }) => {
    const answers = new Map(QUESTIONS.map((question) => [question, answerOf(name, question)]));
    const parsed = [...answers].map(([question, text]) => PARSERS[question](text));
    return { name, collector, answers, undamaged: Object.assign({}, ...parsed) as LiveValues };
  });
  const counts = { read: 0, unread: 0 };
  for (let index = 0; index < MUTATIONS; index += 1) {
    const { name, collector, answers, undamaged } = samples[index % samples.length]!;
    const question = random.pick(QUESTIONS);
    const damaged = PARSERS[question](mutate(answers.get(question) ?? '', random));
    const live: LiveValues = { ...undamaged, ...damaged };
    const isComplete = live.heap && live.metaspace && live.codeHeaps && live.flags?.maxHeapSize !== undefined;
    counts[isComplete ? 'read' : 'unread'] += 1;
    const impossible = impossibleIn(layOver(NO_READING, live, { collector, architecture: 'x64' }));
    if (impossible !== undefined) expect.fail(`mutation ${index} of ${name}: ${impossible}`);
  }
  // The damage is neither so small that all is read as before, nor so large that nothing is looked at.
  expect(counts.read).toBeGreaterThan(MUTATIONS / 10);
  expect(counts.unread).toBeGreaterThan(MUTATIONS / 10);
});
