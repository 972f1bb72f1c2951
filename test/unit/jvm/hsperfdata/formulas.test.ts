import { describe, expect, it } from 'vitest';
import { toReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import {
  beansOf,
  countersOf,
  SAMPLES,
  sampleBytes,
  withNumber,
  withText,
} from '../../../support/jvm/hsperfdata/samples.ts';

const read = (bytes: Buffer) => toReading(countersOf(bytes)).reading;

/** What a reading says otherwise than the beans, e.g. `heap.used: -2440144`, or `heap.init: absent`. */
function differences(sample: string): Record<string, number | 'absent'> {
  const { reading } = toReading(countersOf(sampleBytes(sample)));
  const beans = beansOf(sample);
  const differing: Record<string, number | 'absent'> = {};
  const compare = (name: string, value: number | undefined, expected: number | undefined) => {
    if (value === expected) return;
    differing[name] = value === undefined || expected === undefined ? 'absent' : value - expected;
  };
  compare('classes.loaded', reading.classes.loaded, beans.classes.total);
  compare('classes.unloaded', reading.classes.unloaded, beans.classes.unloaded);
  const keys = ['init', 'used', 'committed', 'max'] as const;
  for (const key of keys) compare(`heap.${key}`, reading.heap[key], beans.heap[key]);
  for (const [name, { usage }] of Object.entries(beans.pools)) {
    if (name.startsWith('CodeHeap')) continue;
    for (const key of keys) compare(`${name}.${key}`, reading.pools.get(name)?.[key], usage[key]);
  }
  for (const [name, { count, time }] of Object.entries(beans.gc)) {
    compare(`${name}.count`, reading.collectors.get(name)?.count, count);
    compare(`${name}.time`, reading.collectors.get(name)?.timeMs, time);
  }
  const extra = [...reading.pools.keys()].filter((name) => !(name in beans.pools));
  const extraCollectors = [...reading.collectors.keys()].filter((name) => !(name in beans.gc));
  expect([...extra, ...extraCollectors]).toEqual([]);
  return differing;
}

// As of the last collection; the sample loaded 60 classes since. Shenandoah refreshes without one.
const staleMetaspace = (used: number, committed: number, classUsed: number, classCommitted: number) => ({
  'Metaspace.used': used,
  'Metaspace.committed': committed,
  'Compressed Class Space.used': classUsed,
  'Compressed Class Space.committed': classCommitted,
});
// The file has only the reserved address space, the same with and without a limit.
const noMetaspaceLimit = { 'Metaspace.max': 'absent' };
// The counters are 0, or know nothing but an explicit -Xms.
const noYoungInit = (eden: string, survivor: string) => ({
  'heap.init': 'absent',
  [`${eden}.init`]: 'absent',
  [`${survivor}.init`]: 'absent',
});

const EXCEPTIONS: Record<string, Record<string, number | string>> = {
  'jdk17-serial': {
    ...noMetaspaceLimit,
    ...noYoungInit('Eden Space', 'Survivor Space'),
    ...staleMetaspace(-122808, -327680, -32160, -131072),
  },
  'jdk25-serial': {
    ...noMetaspaceLimit,
    ...noYoungInit('Eden Space', 'Survivor Space'),
    ...staleMetaspace(-124464, -393216, -32640, -131072),
    // Written at collections only since JDK 25, and eden is empty after each.
    'heap.used': -2440144,
    'Eden Space.used': -2440144,
  },
  'jdk17-parallel': {
    ...noMetaspaceLimit,
    ...noYoungInit('PS Eden Space', 'PS Survivor Space'),
    ...staleMetaspace(-119272, -327680, -32160, -131072),
  },
  'jdk25-parallel': {
    ...noMetaspaceLimit,
    ...noYoungInit('PS Eden Space', 'PS Survivor Space'),
    ...staleMetaspace(-125184, -393216, -32640, -131072),
    'heap.used': -3201904,
    'PS Eden Space.used': -3201904,
  },
  'jdk17-g1': { ...noMetaspaceLimit, ...staleMetaspace(-133496, -327680, -32160, -131072) },
  'jdk25-g1': { ...noMetaspaceLimit, ...staleMetaspace(-126696, -393216, -32640, -131072) },
  'jdk17-z': {
    ...noMetaspaceLimit,
    // The counter is the smallest heap, not the one to begin with.
    'heap.init': 'absent',
    'Metaspace.used': -968,
    // As of the last cycle, before which there was more.
    'heap.used': 4194304,
    'ZHeap.used': 4194304,
    'ZGC Cycles.count': 'absent',
    'ZGC Cycles.time': 'absent',
  },
  'jdk25-z': {
    ...noMetaspaceLimit,
    ...staleMetaspace(-124296, -393216, -32640, -131072),
    'heap.used': -4194304,
    'ZGC Young Generation.used': -4194304,
    'ZGC Minor Cycles.count': 'absent',
    'ZGC Minor Cycles.time': 'absent',
    'ZGC Major Cycles.count': 'absent',
    'ZGC Major Cycles.time': 'absent',
  },
  'jdk17-shenandoah': {
    ...noMetaspaceLimit,
    'Metaspace.used': 2864,
    // The 264 KB that were allocated between the print of the beans and the copy of the file.
    'heap.used': 263352,
    'Shenandoah.used': 263352,
    'Shenandoah Pauses.count': 'absent',
    'Shenandoah Pauses.time': 'absent',
    'Shenandoah Cycles.count': 'absent',
    'Shenandoah Cycles.time': 'absent',
  },
  'jdk25-shenandoah': {
    ...noMetaspaceLimit,
    // The same file is that of a JVM with generations, which has no such pool.
    'Shenandoah.init': 'absent',
    'Shenandoah.used': 'absent',
    'Shenandoah.committed': 'absent',
    'Shenandoah.max': 'absent',
    'Shenandoah Pauses.count': 'absent',
    'Shenandoah Pauses.time': 'absent',
    'Shenandoah Cycles.count': 'absent',
    'Shenandoah Cycles.time': 'absent',
  },
};

for (const sample of SAMPLES) {
  it(`${sample}: agrees with the MXBeans but for the known exceptions`, () => {
    expect(differences(sample)).toEqual(EXCEPTIONS[sample]);
  });

  it(`${sample}: gives no code heap, and so nothing of non-heap`, () => {
    const { nonHeap, pools } = read(sampleBytes(sample));
    expect(nonHeap).toEqual({});
    expect([...pools.keys()].filter((name) => name.startsWith('Code'))).toEqual([]);
    for (const pool of pools.values()) expect(pool.usedAfterGc).toBeUndefined();
  });
}

it.each([
  ['jdk17-serial', 'Serial', 'live'],
  ['jdk25-serial', 'Serial', 'after-gc'],
  ['jdk17-parallel', 'Parallel', 'live'],
  ['jdk25-parallel', 'Parallel', 'after-gc'],
  ['jdk17-g1', 'G1', 'live'],
  ['jdk25-g1', 'G1', 'live'],
  ['jdk17-z', 'ZGC', 'after-gc'],
  ['jdk25-z', 'GenerationalZGC', 'after-gc'],
  ['jdk17-shenandoah', 'Shenandoah', 'live'],
  ['jdk25-shenandoah', 'Shenandoah', 'live'],
])('%s: is %s, with memory %s', (sample, collector, memory) => {
  const result = toReading(countersOf(sampleBytes(sample)));
  expect(result.collector).toBe(collector);
  expect(result.reading.memory).toBe(memory);
});

describe('an unknown policy', () => {
  const reading = read(withText(sampleBytes('jdk17-serial'), 'sun.gc.policy.name', 'CMS'));

  it('gives classes and the collectors by their names in the file', () => {
    expect(reading.classes).toEqual({ loaded: 1178, unloaded: 120 });
    expect(Object.fromEntries(reading.collectors)).toEqual({
      'Serial young collection pauses': { count: 6, timeMs: 21 },
      'Serial full collection pauses': { count: 2, timeMs: 11 },
    });
  });

  it('gives no heap and no heap pool', () => {
    expect(reading.heap).toEqual({});
    expect([...reading.pools.keys()]).toEqual(['Metaspace', 'Compressed Class Space']);
  });
});

it('shows the survivor space in use', () => {
  const bytes = withNumber(sampleBytes('jdk17-serial'), 'sun.gc.generation.0.space.2.used', 4096n);
  expect(read(bytes).pools.get('Survivor Space')?.used).toBe(4096);
  expect(read(bytes).heap.used).toBe(2527496 + 4096 + 16006904);
});

it('shows no survivor space when both seem to be in use', () => {
  const one = withNumber(sampleBytes('jdk17-serial'), 'sun.gc.generation.0.space.2.used', 4096n);
  const reading = read(withNumber(one, 'sun.gc.generation.0.space.1.used', 4096n));
  expect(reading.pools.get('Survivor Space')).toEqual({});
  expect(reading.heap.used).toBeUndefined();
  expect(reading.heap.max).toBe(194641920);
});

it('raises the maximum of Parallel’s heap to the committed size', () => {
  const bytes = withNumber(sampleBytes('jdk17-parallel'), 'sun.gc.generation.0.space.1.maxCapacity', 130_000_000n);
  expect(read(bytes).heap.max).toBe(read(sampleBytes('jdk17-parallel')).heap.committed);
});

it('shows no used memory of JDK 25 before the first collection, since nothing is written yet', () => {
  let bytes = withNumber(sampleBytes('jdk25-serial'), 'sun.gc.collector.0.invocations', 0n);
  bytes = withNumber(bytes, 'sun.gc.collector.1.invocations', 0n);
  const reading = read(bytes);
  expect(reading.heap).toEqual({ committed: 48758784, max: 194641920 });
  expect(reading.pools.get('Tenured Gen')).toEqual({ init: 33554432, committed: 33554432, max: 134217728 });
});

describe('ZGC without generations', () => {
  const SPACE = 'sun.gc.generation.1.space.0';
  const MIB = 1_048_576n;
  const sample = sampleBytes('jdk17-z');
  const beans = beansOf('jdk17-z');
  const withoutCycle = (bytes: Buffer) => withNumber(bytes, 'sun.gc.collector.2.invocations', 0n);
  const withSmallest = (bytes: Buffer, smallest: bigint) => withNumber(bytes, `${SPACE}.initCapacity`, smallest);

  it('does not report the minimum size as the heap’s initial size, unlike its pool’s bean', () => {
    const reading = read(withSmallest(sample, 8n * MIB));
    expect(reading.heap?.init).toBeUndefined();
    expect(reading.pools.get('ZHeap')?.init).toBe(Number(8n * MIB));
    expect(reading.heap.committed).toBe(beans.heap.committed);
  });

  it('does not report the minimum size as committed before the first cycle', () => {
    const { heap, pools } = read(withoutCycle(withNumber(sample, `${SPACE}.capacity`, 8n * MIB)));
    expect(heap).toEqual({ max: beans.heap.max });
    expect(pools.get('ZHeap')).toEqual({ init: beans.pools.ZHeap?.usage.init, max: beans.heap.max });
  });

  it('reports both for a heap of fixed size', () => {
    const max = BigInt(beans.heap.max as number);
    const fixed = withNumber(withSmallest(sample, max), `${SPACE}.capacity`, max);
    expect(read(withoutCycle(fixed)).heap).toEqual({ init: Number(max), committed: Number(max), max: Number(max) });
  });
});

it('gives the pool of Shenandoah only for JDKs that have no generational mode', () => {
  expect(read(sampleBytes('jdk17-shenandoah')).pools.has('Shenandoah')).toBe(true);
  const { pools, heap } = read(sampleBytes('jdk25-shenandoah'));
  expect(pools.has('Shenandoah')).toBe(false);
  expect(heap).toEqual(beansOf('jdk25-shenandoah').heap);
  // A release that the file does not say may have that mode.
  const counters = { ...countersOf(sampleBytes('jdk17-shenandoah')), jdkMajor: undefined };
  expect(toReading(counters).reading.pools.has('Shenandoah')).toBe(false);
});

it('gives no Metaspace in use before the first collection', () => {
  let bytes = withNumber(sampleBytes('jdk17-g1'), 'sun.gc.metaspace.used', 0n);
  bytes = withNumber(bytes, 'sun.gc.metaspace.capacity', 0n);
  expect(read(bytes).pools.get('Metaspace')).toEqual({ init: 0 });
});

it('has no compressed class space where the JVM has none', () => {
  const bytes = withNumber(sampleBytes('jdk17-g1'), 'sun.gc.compressedclassspace.maxCapacity', 0n);
  expect(read(bytes).pools.has('Compressed Class Space')).toBe(false);
});

describe('impossible numbers', () => {
  const OLD = 'sun.gc.generation.1.space.0';
  it.each([
    ['negative', `${OLD}.used`, -1n],
    ['more than is committed', `${OLD}.used`, 33_554_433n],
    ['more than a process can address', `${OLD}.used`, 2n ** 47n + 1n],
    ['beyond 2^53', `${OLD}.used`, 2n ** 60n],
  ])('%s: neither the pool’s use nor the heap’s is given', (_, name, value) => {
    const reading = read(withNumber(sampleBytes('jdk17-serial'), name, value));
    expect(reading.pools.get('Tenured Gen')?.used).toBeUndefined();
    expect(reading.heap.used).toBeUndefined();
    expect(reading.pools.get('Eden Space')?.used).toBe(2527496);
  });

  it('committed beyond the maximum: neither is given', () => {
    const reading = read(withNumber(sampleBytes('jdk17-serial'), `${OLD}.capacity`, 134_217_729n));
    expect(reading.pools.get('Tenured Gen')).toEqual({ init: 33554432, used: 16006904 });
    expect(reading.heap.committed).toBeUndefined();
  });

  it('a capacity of G1 that is no whole number of regions is not given', () => {
    const reading = read(withNumber(sampleBytes('jdk25-g1'), `${OLD}.capacity`, 30_408_705n));
    expect(reading.pools.get('G1 Old Gen')?.committed).toBeUndefined();
    expect(reading.heap.committed).toBeUndefined();
  });

  it('more classes unloaded than loaded: neither is given', () => {
    expect(read(withNumber(sampleBytes('jdk17-g1'), 'java.cls.unloadedClasses', 1167n)).classes).toEqual({});
  });

  it('a frequency that no HotSpot has: times are not given, counts are', () => {
    const reading = read(withNumber(sampleBytes('jdk17-g1'), 'sun.os.hrt.frequency', 999_999_999n));
    expect(reading.collectors.get('G1 Young Generation')).toEqual({ count: 6 });
  });

  it('ticks are divided exactly, also beyond 2^53', () => {
    const ticks = 2n ** 62n + 999_999n;
    const reading = read(withNumber(sampleBytes('jdk17-g1'), 'sun.gc.collector.0.time', ticks));
    expect(reading.collectors.get('G1 Young Generation')?.timeMs).toBe(Number(ticks / 1_000_000n));
  });
});
