import { describe, expect, it } from 'vitest';
import { parseCodeCache, parseFlags, parseMetaspace } from '../../../../src/jvm/attach/parse-non-heap.ts';
import { answerOf, beansOf, DRIFT, KIB, MIB, poolOf, SAMPLES } from '../../../support/jvm/attach/samples.ts';

const ONE_CODE_CACHE_17 = `CodeCache: size=20480Kb used=1113Kb max_used=1113Kb free=19366Kb
 bounds [0x00007eff4b000000, 0x00007eff4b270000, 0x00007eff4c400000]
 total_blobs=343 nmethods=62 adapters=195
 compilation: enabled
              stopped_count=0, restarted_count=0
 full_count=0
`;
const ONE_CODE_CACHE_25 = `CodeCache: size=20480Kb used=1207Kb max_used=1212Kb free=19272Kb
 bounds [0x00007efe4e800000, 0x00007efe4ea70000, 0x00007efe4fc00000]
 total_blobs=308, nmethods=7, adapters=207, full_count=0
Compilation: enabled, stopped_count=0, restarted_count=0
`;
const NO_CLASS_SPACE = `Metaspace        used 4040K, committed 4160K, reserved 65536K

Usage:
4137376 bytes used.

Virtual space:
67108864 bytes reserved, 4259840 bytes (  6%) committed,  1 nodes.

Chunk freelists:
12578816 bytes

MaxMetaspaceSize: unlimited
No class space
Initial GC threshold: 22020096 bytes
`;

describe('parseMetaspace', () => {
  it.each(SAMPLES)('$name: agrees with the beans', ({ name }) => {
    const metaspace = parseMetaspace(answerOf(name, 'metaspace-basic'));
    const both = poolOf(beansOf(name), 'Metaspace');
    const classSpace = poolOf(beansOf(name), 'Compressed Class Space');
    expect(metaspace?.used).toBeGreaterThanOrEqual(both.used);
    expect(metaspace?.used).toBeLessThanOrEqual(both.used + DRIFT.metaspaceUsed);
    expect([both.committed, both.committed + DRIFT.metaspaceCommitted]).toContain(metaspace?.committed);
    expect(metaspace?.max).toBe(-1);
    const { used, committed, max } = classSpace;
    expect(metaspace?.classSpace).toEqual({ used, committed, max });
  });

  it('reads the configured limit', () => {
    const text = answerOf('jdk17-g1', 'metaspace-basic').replace(': unlimited', ': 67108864 bytes');
    expect(parseMetaspace(text)?.max).toBe(64 * MIB);
  });

  it('has no class space without compressed class pointers', () => {
    expect(parseMetaspace(NO_CLASS_SPACE)).toEqual({ used: 4_137_376, committed: 4_259_840, max: -1 });
  });

  it('leaves out a limit below the committed size', () => {
    const text = answerOf('jdk17-g1', 'metaspace-basic').replace(': unlimited', ': 4096 bytes');
    expect(parseMetaspace(text)?.max).toBeUndefined();
    expect(parseMetaspace(text)?.used).toBe(1_316_408);
  });

  it('accepts a sum that differs by what is loaded between two lines, but no more', () => {
    const between = (bytes: number) =>
      parseMetaspace(answerOf('jdk17-g1', 'metaspace-basic').replace('1163240', String(1_163_240 - bytes)));
    expect(between(64 * KIB)?.used).toBe(1_316_408);
    expect(between(1_100_000)).toBeUndefined();
  });

  it.each([
    ['nothing', ''],
    ['the full report’s other unit', answerOf('jdk17-g1', 'metaspace-basic').replaceAll(' bytes', ' KB')],
    ['more in use than committed', answerOf('jdk17-g1', 'metaspace-basic').replace('1703936', '1303936')],
    ['more committed than reserved', answerOf('jdk17-g1', 'metaspace-basic').replace('1140850688', '1140850')],
    ['an end before the figures', answerOf('jdk17-g1', 'metaspace-basic').slice(0, 300)],
    ['a second set of figures', answerOf('jdk17-g1', 'metaspace-basic').repeat(2)],
  ])('does not read %s', (_, text) => {
    expect(parseMetaspace(text)).toBeUndefined();
  });
});

describe('parseCodeCache', () => {
  it.each(SAMPLES)('$name: agrees with the beans', ({ name }) => {
    const heaps = parseCodeCache(answerOf(name, 'codecache')) ?? [];
    expect(heaps.map((heap) => heap.name).sort()).toEqual([
      "CodeHeap 'non-nmethods'",
      "CodeHeap 'non-profiled nmethods'",
      "CodeHeap 'profiled nmethods'",
    ]);
    for (const heap of heaps) {
      const bean = poolOf(beansOf(name), heap.name);
      expect(heap).toMatchObject({ committed: bean.committed, max: bean.max });
      // Cut to whole KiB.
      expect(heap.used).toBeGreaterThan(bean.used - KIB);
      expect(heap.used).toBeLessThanOrEqual(bean.used + DRIFT.codeUsed);
    }
  });

  it.each([
    ['JDK 17', ONE_CODE_CACHE_17, 1113 * KIB],
    ['JDK 25', ONE_CODE_CACHE_25, 1207 * KIB],
  ])('%s: reads an undivided code cache', (_, text, used) => {
    expect(parseCodeCache(text)).toEqual([{ name: 'CodeCache', used, committed: 0x27_0000, max: 20 * MIB }]);
  });

  it.each([
    ['nothing', ''],
    ['a heap whose size is not that of its bounds', swap('size=5692Kb', 'size=5690Kb')],
    ['bounds that cannot be read', swap('0x00007ff653ec7000', '0xnil')],
    ['a heap whose line is damaged', swap("CodeHeap 'profiled", "CodeHeap 'pro\u0001filed")],
    ['bounds without their heap', swap(/^CodeHeap 'profiled.*\n/m, '')],
    ['a heap twice', swap("'profiled nmethods'", "'non-profiled nmethods'")],
    ['heaps that are less than all together', swap(/^CodeHeap 'profiled.*\n.*\n/m, '')],
    [
      'more in use than committed',
      swap('used=105Kb max_used=105Kb free=119931Kb', 'used=5105Kb max_used=5105Kb free=114931Kb'),
    ],
    ['an answer that was cut off', answerOf('jdk25-g1', 'codecache').slice(0, 420)],
    ['pieces without the one that is always there', ONE_CODE_CACHE_17.replace('CodeCache', "CodeHeap 'other'")],
  ])('does not read %s', (_, text) => {
    expect(parseCodeCache(text)).toBeUndefined();
  });
});

function swap(from: string | RegExp, to: string): string {
  const text = answerOf('jdk25-g1', 'codecache');
  const swapped = text.replace(from, to);
  if (swapped === text) throw new Error(`${from} is not there`);
  return swapped;
}

describe('parseFlags', () => {
  it.each(SAMPLES)('$name: reads the initial and maximum heap sizes', ({ name, collector }) => {
    expect(parseFlags(answerOf(name, 'flags'))).toEqual({
      initialHeapSize: beansOf(name).heap.init,
      maxHeapSize: 192 * MIB,
      hasLargePages: false,
      ...(collector === 'Shenandoah' ? { shenandoahMode: 'default' } : {}),
    });
  });

  it.each([
    ['-XX:ShenandoahGCMode=generational -XX:+UseShenandoahGC ', 'generational'],
    ['-XX:+UseShenandoahGC', 'default'],
    ['-XX:ShenandoahGCMode=satb -XX:ShenandoahGCMode=iu -XX:+UseShenandoahGC', 'satb iu'],
    ['-XX:-UseShenandoahGC', undefined],
    ['-XX:ShenandoahGCMode=generational -XX:+UseG1GC', undefined],
    ['-XX:SoftMaxHeapSize=1 -XX:+UseShen', undefined],
  ])('reads %j as the mode %s', (text, mode) => {
    expect(parseFlags(text).shenandoahMode).toBe(mode);
  });

  it('reads the flags that change the code heaps', () => {
    const text = '-XX:InitialCodeCacheSize=163840 -XX:+UseTransparentHugePages \n';
    expect(parseFlags(text)).toEqual({ initialCodeCacheSize: 163_840, hasLargePages: true });
  });

  it.each([
    ['sizes that cannot be', '-XX:InitialHeapSize=20 -XX:MaxHeapSize=10'],
    ['one without the other', '-XX:MaxHeapSize=10'],
    ['the same flag twice', '-XX:InitialHeapSize=1 -XX:MaxHeapSize=10 -XX:MaxHeapSize=20'],
    ['a size with a unit', '-XX:InitialHeapSize=1m -XX:MaxHeapSize=10m'],
    ['a part of another word', '-XX:OnError=-XX:MaxHeapSize=10;-XX:InitialHeapSize=10'],
  ])('does not read heap sizes from %s', (_, text) => {
    expect(parseFlags(text)).toEqual({ hasLargePages: false });
  });
});
