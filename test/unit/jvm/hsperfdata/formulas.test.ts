import { expect, it } from 'vitest';
import { computeReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import { countersOf, SAMPLES, sampleBytes, withNumber } from '../../../support/jvm/hsperfdata/samples.ts';
import { beansOf } from '../../../support/jvm/truth/beans.ts';

/** The old generation, or all of ZGC's heap. */
const OLD = 'sun.gc.generation.1.space.0';
const read = (bytes: Buffer) => computeReading(countersOf(bytes)).reading;
const readWith = (sample: string, name: string, value: bigint) => read(withNumber(sampleBytes(sample), name, value));

/** What a reading says otherwise than the beans, e.g. `heap.used: -2440144`, or `heap.init: absent`. */
function differences(sample: string): Record<string, number | 'absent'> {
  const reading = read(sampleBytes(sample));
  const beans = beansOf(sample);
  const differing: Record<string, number | 'absent'> = {};
  const compare = (name: string, value: number | undefined, expected: number | undefined) => {
    if (value === expected) return;
    differing[name] = value === undefined || expected === undefined ? 'absent' : value - expected;
  };
  compare('classes.loaded', reading.classes.loaded, beans.classes.loaded);
  compare('classes.unloaded', reading.classes.unloaded, beans.classes.unloaded);
  const keys = ['init', 'used', 'committed', 'max'] as const;
  for (const key of keys) compare(`heap.${key}`, reading.heap[key], beans.heap[key]);
  for (const [name, { usage }] of Object.entries(beans.pools)) {
    if (name.startsWith('CodeHeap')) continue;
    for (const key of keys) compare(`${name}.${key}`, reading.pools.get(name)?.[key], usage[key]);
  }
  for (const [name, { count, timeMs }] of Object.entries(beans.collectors)) {
    compare(`${name}.count`, reading.collectors.get(name)?.count, count);
    compare(`${name}.time`, reading.collectors.get(name)?.timeMs, timeMs);
  }
  const extra = [...reading.pools.keys()].filter((name) => !(name in beans.pools));
  const extraCollectors = [...reading.collectors.keys()].filter((name) => !(name in beans.collectors));
  expect([...extra, ...extraCollectors]).toEqual([]);
  return differing;
}

// As of the last collection; the sample loaded 60 classes since. Shenandoah refreshes without one.
const staleMetaspace = (used: number, committed: number, classUsed: number) => ({
  'Metaspace.used': used,
  'Metaspace.committed': committed,
  'Compressed Class Space.used': classUsed,
  'Compressed Class Space.committed': -131072,
});
const usedOf = (pool: string, difference: number) => ({ 'heap.used': difference, [`${pool}.used`]: difference });
const absent = (...names: string[]) => Object.fromEntries(names.map((name) => [name, 'absent' as const]));
// The counters are 0, or know nothing but an explicit -Xms.
const noYoungInit = (prefix: string) => absent('heap.init', `${prefix}Eden Space.init`, `${prefix}Survivor Space.init`);
const uncounted = (...collectors: string[]) =>
  absent(...collectors.flatMap((collector) => [`${collector}.count`, `${collector}.time`]));

/** By the sample: its collector, of which moment its memory is, and what it says otherwise than the beans. */
const EXPECTED: Record<string, [collector: string, memory: string, Record<string, number | 'absent'>]> = {
  'jdk17-serial': ['Serial', 'live', { ...noYoungInit(''), ...staleMetaspace(-122808, -327680, -32160) }],
  'jdk25-serial': [
    'Serial',
    'after-gc',
    // Written at collections only since JDK 25, and eden is empty after each.
    { ...noYoungInit(''), ...staleMetaspace(-124464, -393216, -32640), ...usedOf('Eden Space', -2440144) },
  ],
  'jdk17-parallel': ['Parallel', 'live', { ...noYoungInit('PS '), ...staleMetaspace(-119272, -327680, -32160) }],
  'jdk25-parallel': [
    'Parallel',
    'after-gc',
    { ...noYoungInit('PS '), ...staleMetaspace(-125184, -393216, -32640), ...usedOf('PS Eden Space', -3201904) },
  ],
  'jdk17-g1': ['G1', 'live', staleMetaspace(-133496, -327680, -32160)],
  'jdk25-g1': ['G1', 'live', staleMetaspace(-126696, -393216, -32640)],
  'jdk17-z': [
    'ZGC',
    'after-gc',
    // The counter is the smallest heap, not the one to begin with; memory is as of the last cycle, before which there was more.
    { ...absent('heap.init'), 'Metaspace.used': -968, ...usedOf('ZHeap', 4194304), ...uncounted('ZGC Cycles') },
  ],
  'jdk25-z': [
    'GenerationalZGC',
    'after-gc',
    {
      ...staleMetaspace(-124296, -393216, -32640),
      ...usedOf('ZGC Young Generation', -4194304),
      ...uncounted('ZGC Minor Cycles', 'ZGC Major Cycles'),
    },
  ],
  'jdk17-shenandoah': [
    'Shenandoah',
    'live',
    {
      'Metaspace.used': 2864,
      // The 264 KB that were allocated between the print of the beans and the copy of the file.
      ...usedOf('Shenandoah', 263352),
      ...uncounted('Shenandoah Pauses', 'Shenandoah Cycles'),
    },
  ],
  'jdk25-shenandoah': [
    'Shenandoah',
    'live',
    {
      // The same file is that of a JVM with generations, which has no such pool.
      ...absent('Shenandoah.init', 'Shenandoah.used', 'Shenandoah.committed', 'Shenandoah.max'),
      ...uncounted('Shenandoah Pauses', 'Shenandoah Cycles'),
    },
  ],
};

it.each(SAMPLES)('%s: agrees with the MXBeans but for the known exceptions', (sample) => {
  const { collector, reading } = computeReading(countersOf(sampleBytes(sample)));
  const [expectedCollector, memory, exceptions] = EXPECTED[sample] ?? [];
  // The file has only the reserved address space of Metaspace, the same with and without a limit.
  expect(differences(sample)).toEqual({ ...absent('Metaspace.max'), ...exceptions });
  expect([collector, reading.memory]).toEqual([expectedCollector, memory]);
  // No code heap is in the file, and so nothing of non-heap.
  expect(reading.nonHeap).toEqual({});
  expect([...reading.pools.keys()].filter((name) => name.startsWith('Code'))).toEqual([]);
  expect([...reading.pools.values()].filter(({ usedAfterGc }) => usedAfterGc !== undefined)).toEqual([]);
});

it('shows no used memory of JDK 25 before the first collection, since nothing is written yet', () => {
  const bytes = withNumber(sampleBytes('jdk25-serial'), 'sun.gc.collector.0.invocations', 0n);
  const { heap, pools } = read(withNumber(bytes, 'sun.gc.collector.1.invocations', 0n));
  expect(heap).toEqual({ committed: 48758784, max: 194641920 });
  expect(pools.get('Tenured Gen')).toEqual({ init: 33554432, committed: 33554432, max: 134217728 });
});

it('of numbers that contradict each other none is given', () => {
  const inUse = readWith('jdk17-serial', `${OLD}.used`, 33_554_433n);
  expect(inUse.pools.get('Tenured Gen')).toEqual({ init: 33554432, max: 134217728 });
  const committed = readWith('jdk17-serial', `${OLD}.capacity`, 134_217_729n);
  expect(committed.pools.get('Tenured Gen')).toEqual({ init: 33554432, used: 16006904 });
});
