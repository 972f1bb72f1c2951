import { expect, it } from 'vitest';
import { type LiveValues, layOver } from '../../../../src/jvm/attach/live-values.ts';
import { parseCodeCache, parseFlags, parseHeapInfo, parseMetaspace } from '../../../../src/jvm/attach/parse-answers.ts';
import type { Collector } from '../../../../src/jvm/hsperfdata/formulas.ts';
import { computeReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import type { JvmReading, MemoryUsage, PoolUsage } from '../../../../src/jvm/jvm-source.ts';
import { answerOf, KIB, MIB, SAMPLES } from '../../../support/jvm/attach/samples.ts';
import { countersOf, sampleBytes } from '../../../support/jvm/hsperfdata/samples.ts';
import { NO_READING } from '../../../support/jvm/no-reading.ts';
import { beansOf } from '../../../support/jvm/truth/beans.ts';

const X64 = { architecture: 'x64' };

const withPool = (name: string, usage: PoolUsage) => ({ ...NO_READING, pools: new Map([[name, usage]]) });

function liveOf(name: string): LiveValues {
  return {
    heap: parseHeapInfo(answerOf(name, 'heap_info')),
    metaspace: parseMetaspace(answerOf(name, 'metaspace-basic')),
    codeHeaps: parseCodeCache(answerOf(name, 'codecache')),
    flags: parseFlags(answerOf(name, 'flags')),
  };
}

function laidOver(base: JvmReading, name: string, collector?: Collector, jdkMajor?: number): JvmReading {
  return layOver(base, liveOf(name), { ...X64, collector, jdkMajor });
}

// What moves between two looks at a JVM is held against the beans of real ones: programs/jvm/collectors.test.ts.
it.each(SAMPLES)('$name: the attach socket over the counters has what stands still as the beans have it', (sample) => {
  const { name, collector, jdkMajor } = sample;
  const base = computeReading(countersOf(sampleBytes(name))).reading;
  const laid = laidOver(base, name, collector, jdkMajor);
  const { heap, nonHeap, pools } = beansOf(name);
  const fixed = ({ init, committed, max }: MemoryUsage) => ({ init, committed, max });
  expect([fixed(laid.heap), laid.memory]).toEqual([fixed(heap), 'live']);
  expect(laid.nonHeap).toMatchObject({ init: nonHeap.init, max: nonHeap.max });
  expect([...laid.pools].map(([pool, { max }]) => [pool, max]).sort()).toEqual(
    Object.entries(pools)
      .map(([pool, { usage }]) => [pool, usage.max])
      .sort(),
  );
  const sum = Object.entries(pools).reduce(
    (all, [pool, { type }]) => all + (type === 'HEAP' ? 0 : (laid.pools.get(pool)?.used ?? Number.NaN)),
    0,
  );
  expect(laid.nonHeap.used).toBe(sum);
  expect([laid.classes, laid.collectors]).toEqual([base.classes, base.collectors]);
});

it('the heap of G1 is the one of the file, whose counters do not count open regions as full', () => {
  const base = { ...NO_READING, heap: { used: 18_001_664, committed: 62_914_560, max: 201_326_592 } };
  expect(laidOver(base, 'jdk17-g1', 'G1').heap).toEqual({ ...base.heap, init: 50_331_648 });
  const { heap, memory } = laidOver(NO_READING, 'jdk17-g1', 'G1');
  expect(heap, 'without a file').toEqual({ init: 48 * MIB, used: 19_627 * KIB, committed: 60 * MIB, max: 192 * MIB });
  expect(memory).toBe('live');
});

it('the heap of Serial has no unknown maximum, since MaxHeapSize has one survivor space too many; that of Parallel has the committed size if that is larger, as the bean has', () => {
  expect(laidOver(NO_READING, 'jdk25-serial', 'Serial').heap?.max).toBeUndefined();
  const base = { ...NO_READING, heap: { max: 50_000_000 } };
  expect(laidOver(base, 'jdk25-parallel', 'Parallel').heap.max).toBe(85_983_232);
});

it('the heap is the one of the file if the socket’s contradicts the maximum, or the two sources disagree on the collector', () => {
  const base = { ...NO_READING, heap: { used: 5, max: 1000 } };
  expect(laidOver(base, 'jdk25-serial', 'Serial')).toMatchObject({ heap: base.heap, memory: 'after-gc' });
  const { heap, pools, memory } = laidOver({ ...NO_READING, heap: { used: 5 } }, 'jdk25-serial', 'Parallel');
  expect([heap, pools.has('Eden Space'), memory]).toEqual([{ used: 5, init: 48 * MIB }, false, 'after-gc']);
});

it('the heap of ZGC keeps its generations, of which the socket has only the sum', () => {
  const { heap, pools } = laidOver(withPool('ZGC Young Generation', { used: 7 }), 'jdk25-z', 'GenerationalZGC');
  expect([pools.get('ZGC Young Generation'), pools.has('ZHeap')]).toEqual([{ used: 7 }, false]);
  expect(heap.used).toBe(24 * MIB);
});

const USED = 23_153 * KIB;
const laidWith = (shenandoahMode: string | undefined, jdkMajor: number | undefined) => {
  const live = liveOf('jdk25-shenandoah');
  const flags = { ...live.flags, hasLargePages: false, shenandoahMode };
  return layOver(NO_READING, { ...live, flags } as LiveValues, { ...X64, collector: 'Shenandoah', jdkMajor });
};

it.each([
  ['default', 25],
  ['satb', 99],
  ['passive', undefined],
])('the one pool of Shenandoah is the heap, in the mode %s of JDK %s', (mode, jdkMajor) => {
  const { heap, pools } = laidWith(mode, jdkMajor);
  const { init, committed } = beansOf('jdk25-shenandoah').heap;
  expect(heap).toEqual({ init, used: USED, committed, max: 192 * MIB });
  expect(pools.get('Shenandoah')).toEqual(heap);
});

it.each(['metaspace', 'codeHeaps'] as const)('non-heap memory has no sums without %s', (missing) => {
  const { nonHeap, pools } = layOver(NO_READING, { ...liveOf('jdk17-g1'), [missing]: undefined }, X64);
  expect([nonHeap, pools.has('Metaspace')]).toEqual([{}, missing === 'codeHeaps']);
});
