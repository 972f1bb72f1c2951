/** Damaged answers. No crash, and never a number that cannot be, whatever the text. */
import { expect, it } from 'vitest';
import { type LiveValues, layOver } from '../../../../src/jvm/attach/live-values.ts';
import { parseHeapInfo } from '../../../../src/jvm/attach/parse-heap-info.ts';
import { parseCodeCache, parseFlags, parseMetaspace } from '../../../../src/jvm/attach/parse-non-heap.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-reading.ts';
import { answerOf, type Question, SAMPLES } from '../../../support/jvm/attach/samples.ts';

const MUTATIONS = 20_000;
const EMPTY: JvmReading = {
  classes: {},
  heap: {},
  nonHeap: {},
  pools: new Map(),
  collectors: new Map(),
  memory: 'after-gc',
};
/** Nothing in 2^57 bytes of address space is larger. */
const LARGEST = 2 ** 53;

/** mulberry32: the same damage in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const PIECES = ['0', '9', '99999999999999999999', '-1', '-', 'x', 'K', 'M', '\n', ' ', '\0', 'used', ',', 'é', '0x'];

function mutate(text: string, random: (below: number) => number): string {
  let mutated = text;
  for (let times = 1 + random(4); times > 0; times -= 1) {
    const at = random(mutated.length + 1);
    const length = random(4) === 0 ? random(60) : random(3);
    const piece = [
      () => PIECES[random(PIECES.length)] as string,
      () => '',
      () => text.slice(random(text.length)).slice(0, random(40)),
      () => String.fromCharCode(32 + random(95)),
      () => String(random(10)),
    ][random(5)]?.();
    mutated = mutated.slice(0, at) + piece + mutated.slice(at + length);
  }
  return random(20) === 0 ? mutated.slice(0, random(mutated.length + 1)) : mutated;
}

function expectPossible({ heap, nonHeap, pools }: JvmReading, what: string): void {
  for (const usage of [heap, nonHeap, ...pools.values()]) {
    for (const [key, value] of Object.entries(usage)) {
      if (value === undefined) continue;
      const isFine = Number.isSafeInteger(value) && value < LARGEST && (value >= 0 || (key === 'max' && value === -1));
      if (!isFine) expect.fail(`${what}: ${key} is ${value}`);
    }
  }
  for (const usage of [heap, ...pools.values()]) {
    const { used = 0, committed = Number.POSITIVE_INFINITY, max = -1 } = usage;
    const limit = max === -1 ? Number.POSITIVE_INFINITY : max;
    if (used > committed || used > limit || (usage.committed ?? 0) > limit)
      expect.fail(`${what}: ${JSON.stringify(usage)}`);
  }
  for (const name of pools.keys()) if (!/^[A-Z][A-Za-z0-9 '-]{1,60}$/.test(name)) expect.fail(`${what}: ${name}`);
}

function parse(question: Question, text: string): LiveValues {
  switch (question) {
    case 'heap_info':
      return { heap: parseHeapInfo(text) };
    case 'metaspace-basic':
      return { metaspace: parseMetaspace(text) };
    case 'codecache':
      return { codeHeaps: parseCodeCache(text) };
    case 'flags':
      return { flags: parseFlags(text) };
  }
}

const QUESTIONS = ['heap_info', 'metaspace-basic', 'codecache', 'flags'] as const;
const undamaged = new Map(
  SAMPLES.map(({ name }) => [
    name,
    Object.assign({}, ...QUESTIONS.map((question) => parse(question, answerOf(name, question)))) as LiveValues,
  ]),
);

it('never reads an impossible number from a damaged answer', () => {
  const random = createRandom(20_260_101);
  const counts = { read: 0, unread: 0 };
  for (let index = 0; index < MUTATIONS; index += 1) {
    const { name, collector } = SAMPLES[index % SAMPLES.length] as (typeof SAMPLES)[number];
    const question = QUESTIONS[random(4)] as Question;
    const damaged = mutate(answerOf(name, question), random);
    const live: LiveValues = { ...(undamaged.get(name) as LiveValues), ...parse(question, damaged) };
    const isComplete = live.heap && live.metaspace && live.codeHeaps && live.flags?.maxHeapSize !== undefined;
    counts[isComplete ? 'read' : 'unread'] += 1;
    expectPossible(layOver(EMPTY, live, { collector, architecture: 'x64' }), `mutation ${index} of ${name}`);
  }
  // The damage is neither so small that all is read as before, nor so large that nothing is looked at.
  expect(counts.read).toBeGreaterThan(MUTATIONS / 10);
  expect(counts.unread).toBeGreaterThan(MUTATIONS / 10);
});
