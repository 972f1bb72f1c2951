/** Texts that differ from the samples. */
import { expect, it } from 'vitest';
import { parseCodeCache, parseFlags, parseHeapInfo, parseMetaspace } from '../../../../src/jvm/attach/parse-answers.ts';
import { answerOf, MIB } from '../../../support/jvm/attach/samples.ts';
import { beansOf } from '../../../support/jvm/truth/beans.ts';

const heapInfo = (name: string) => answerOf(name, 'heap_info');
const parsed = (name: string) => parseHeapInfo(heapInfo(name));

it.each(['jdk25-g1', 'jdk17-z', 'jdk25-z'])('%s: the text has the maximum', (name) => {
  expect(parsed(name)).toMatchObject({ max: beansOf(name).heap.max });
});

it.each([
  ['another collector', 'Epsilon Heap\nAllocation space:\n 192M max\n'],
  ['a space that ends before its top', swap(heapInfo('jdk25-serial'), '0x00000000f42d83a0', '0x00000000f4d00000')],
  ['a size that differs from the addresses', swap(heapInfo('jdk25-serial'), 'eden space 13248K', 'eden space 13249K')],
  ['a generation that is not the sum of its spaces', swap(heapInfo('jdk25-parallel'), 'total 51200K', 'total 53248K')],
  ['a space twice', swap(heapInfo('jdk25-serial'), ' from space', ' eden space')],
  ['more in use than committed in G1', swap(heapInfo('jdk25-g1'), 'used 20399K', 'used 61441K')],
  ['another unit in ZGC', swap(heapInfo('jdk25-z'), 'capacity 66M,', 'capacity 66G,')],
])('%s is not read', (_, text) => {
  expect(parseHeapInfo(text)).toBeUndefined();
});

const METASPACE = answerOf('jdk17-g1', 'metaspace-basic');
const CODE_CACHE = answerOf('jdk25-g1', 'codecache');
const ONE_CODE_CACHE_17 = answerOf('jdk17-undivided', 'codecache');
const NO_CLASS_SPACE = answerOf('jdk17-no-class-space', 'metaspace-basic');

function swap(text: string, from: string | RegExp, to: string): string {
  const swapped = text.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'gm'), to);
  if (swapped === text) throw new Error(`${from} is not there`);
  return swapped;
}

it('the metaspace has the configured limit, but none below the committed size, and no class space without compressed class pointers', () => {
  const limited = (limit: string) => parseMetaspace(swap(METASPACE, ': unlimited', `: ${limit} bytes`));
  expect(limited('67108864')).toMatchObject({ max: 64 * MIB });
  expect(limited('4096')).toMatchObject({ max: undefined, used: 1_316_408 });
  expect(parseMetaspace(NO_CLASS_SPACE)).toEqual({ used: 4_137_376, committed: 4_259_840, max: -1 });
});

it.each([
  ['the full report’s other unit', swap(METASPACE, ' bytes', ' KB')],
  ['more in use than committed', swap(METASPACE, '1703936', '1303936')],
  ['a second set of figures', METASPACE.repeat(2)],
])('the metaspace is not read from %s', (_, text) => {
  expect(parseMetaspace(text)).toBeUndefined();
});

it.each([
  ['a heap whose size is not that of its bounds', swap(CODE_CACHE, 'size=5692Kb', 'size=5690Kb')],
  ['a heap whose line is damaged', swap(CODE_CACHE, "CodeHeap 'profiled", "CodeHeap 'pro\u0001filed")],
  ['a heap twice', swap(CODE_CACHE, "'profiled nmethods'", "'non-profiled nmethods'")],
  ['heaps that are less than all together', swap(CODE_CACHE, /^CodeHeap 'profiled.*\n.*\n/, '')],
  [
    'more in use than committed',
    swap(CODE_CACHE, /used=105Kb(.*)=105Kb free=119931Kb/, 'used=5105Kb$1=5105Kb free=114931Kb'),
  ],
  ['pieces without the one that is always there', swap(ONE_CODE_CACHE_17, 'CodeCache', "CodeHeap 'other'")],
])('the code cache is not read from %s', (_, text) => {
  expect(parseCodeCache(text)).toBeUndefined();
});

it.each([
  ['one without the other', '-XX:MaxHeapSize=10'],
  ['the same flag twice', '-XX:InitialHeapSize=1 -XX:MaxHeapSize=10 -XX:MaxHeapSize=20'],
  ['a part of another word', '-XX:OnError=-XX:MaxHeapSize=10;-XX:InitialHeapSize=10'],
])('the flags give no heap sizes for %s', (_, text) => {
  expect(parseFlags(text)).toEqual({ hasLargePages: false });
});
