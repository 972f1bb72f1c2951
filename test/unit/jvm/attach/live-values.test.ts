import { describe, expect, it } from 'vitest';
import { type LiveValues, layOver } from '../../../../src/jvm/attach/live-values.ts';
import { parseHeapInfo } from '../../../../src/jvm/attach/parse-heap-info.ts';
import { parseCodeCache, parseFlags, parseMetaspace } from '../../../../src/jvm/attach/parse-non-heap.ts';
import type { Collector } from '../../../../src/jvm/hsperfdata/collectors.ts';
import { toReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import type { JvmReading } from '../../../../src/jvm/jvm-reading.ts';
import { answerOf, beansOf, DRIFT, KIB, MIB, SAMPLES } from '../../../support/jvm/attach/samples.ts';
import { countersOf, sampleBytes } from '../../../support/jvm/hsperfdata/samples.ts';

const EMPTY: JvmReading = {
  classes: { loaded: 5 },
  heap: {},
  nonHeap: {},
  pools: new Map(),
  collectors: new Map([['Copy', { count: 1 }]]),
  memory: 'after-gc',
};

function liveOf(name: string): LiveValues {
  return {
    heap: parseHeapInfo(answerOf(name, 'heap_info')),
    metaspace: parseMetaspace(answerOf(name, 'metaspace-basic')),
    codeHeaps: parseCodeCache(answerOf(name, 'codecache')),
    flags: parseFlags(answerOf(name, 'flags')),
  };
}

function fileOf(name: string): JvmReading {
  return toReading(countersOf(sampleBytes(name))).reading;
}

function laidOver(base: JvmReading, name: string, collector?: Collector, jdkMajor?: number): JvmReading {
  return layOver(base, liveOf(name), { collector, jdkMajor, architecture: 'x64' });
}

describe.each(SAMPLES)('$name: the counters file with the attach socket laid over it', (sample) => {
  const { name, collector, jdkMajor } = sample;
  const base = fileOf(name);
  const laid = laidOver(base, name, collector, jdkMajor);
  const beans = beansOf(name);

  it('has the heap of the beans, live', () => {
    const { used, ...rest } = beans.heap;
    expect(laid.heap).toMatchObject(rest);
    expect(laid.heap.used).toBeGreaterThanOrEqual(used - KIB);
    expect(laid.heap.used).toBeLessThanOrEqual(used + DRIFT.heapUsed);
    expect(laid.memory).toBe('live');
  });

  it('has all pools of the beans with what is committed and their limits', () => {
    expect([...laid.pools.keys()].sort()).toEqual(Object.keys(beans.pools).sort());
    for (const [pool, { usage, type }] of Object.entries(beans.pools)) {
      if (collector === 'GenerationalZGC' && type === 'HEAP') continue;
      const ours = laid.pools.get(pool);
      expect(ours?.max, pool).toBe(usage.max);
      const granule = pool === 'Metaspace' ? DRIFT.metaspaceCommitted : 0;
      expect([usage.committed, usage.committed + granule], pool).toContain(ours?.committed);
    }
  });

  it('has the non-heap memory of the beans: the sum of its pools, the class space twice', () => {
    const { init, used, committed, max } = beans.nonHeap;
    expect(laid.nonHeap).toMatchObject({ init, max });
    // The beans were summed up while they were printed; then comes what happened until the questions.
    expect(Math.abs((laid.nonHeap.used ?? 0) - used)).toBeLessThan(DRIFT.codeUsed + DRIFT.metaspaceUsed + 3 * KIB);
    expect([committed, committed + DRIFT.metaspaceCommitted]).toContain(laid.nonHeap.committed);
    const pools = Object.entries(beans.pools).filter(([, { type }]) => type === 'NON_HEAP');
    const sum = pools.reduce((all, [pool]) => all + (laid.pools.get(pool)?.used ?? Number.NaN), 0);
    expect(laid.nonHeap.used).toBe(sum);
  });

  it('keeps classes and collections of the file', () => {
    expect(laid.classes).toBe(base.classes);
    expect(laid.collectors).toBe(base.collectors);
  });
});

describe('layOver', () => {
  it('takes G1’s heap from the file, whose counters do not count open regions as full', () => {
    const base = { ...EMPTY, heap: { used: 18_001_664, committed: 62_914_560, max: 201_326_592 } };
    expect(laidOver(base, 'jdk17-g1', 'G1').heap).toEqual({ ...base.heap, init: 50_331_648 });
  });

  it('takes G1’s heap from the socket where the file has none', () => {
    const { heap, memory } = laidOver(EMPTY, 'jdk17-g1', 'G1');
    expect(heap).toEqual({ init: 48 * MIB, used: 19_627 * KIB, committed: 60 * MIB, max: 192 * MIB });
    expect(memory).toBe('live');
  });

  it('leaves out Serial’s maximum if unknown, since MaxHeapSize has one survivor space too many', () => {
    expect(laidOver(EMPTY, 'jdk25-serial', 'Serial').heap?.max).toBeUndefined();
  });

  it('raises Parallel’s maximum to the committed size, as the bean does', () => {
    const base = { ...EMPTY, heap: { max: 50_000_000 } };
    expect(laidOver(base, 'jdk25-parallel', 'Parallel').heap.max).toBe(85_983_232);
  });

  it('keeps Serial’s heap of the file if the socket’s contradicts the maximum', () => {
    const base = { ...EMPTY, heap: { used: 5, max: 1000 } };
    const laid = laidOver(base, 'jdk25-serial', 'Serial');
    expect(laid.heap).toEqual(base.heap);
    expect(laid.memory).toBe('after-gc');
  });

  it('keeps the heap of the file if the two sources disagree on the collector', () => {
    const base = { ...EMPTY, heap: { used: 5 } };
    const laid = laidOver(base, 'jdk25-serial', 'Parallel');
    expect(laid.heap).toEqual({ used: 5, init: 48 * MIB });
    expect(laid.pools.has('Eden Space')).toBe(false);
    expect(laid.memory).toBe('after-gc');
  });

  it('keeps the generations of ZGC, of which the socket has only the sum', () => {
    const base = { ...EMPTY, pools: new Map([['ZGC Young Generation', { used: 7 }]]) };
    const laid = laidOver(base, 'jdk25-z', 'GenerationalZGC');
    expect(laid.pools.get('ZGC Young Generation')).toEqual({ used: 7 });
    expect(laid.pools.has('ZHeap')).toBe(false);
    expect(laid.heap.used).toBe(24 * MIB);
  });

  describe('the one pool of Shenandoah', () => {
    const laidWith = (shenandoahMode: string | undefined, jdkMajor: number | undefined, base = EMPTY) => {
      const live = liveOf('jdk25-shenandoah');
      const flags = { ...live.flags, hasLargePages: false, shenandoahMode };
      return layOver(base, { ...live, flags } as LiveValues, {
        collector: 'Shenandoah',
        jdkMajor,
        architecture: 'x64',
      });
    };

    it.each([
      ['default', 25],
      ['default', 17],
      ['satb', 25],
      ['satb', 99],
      ['iu', 17],
      ['passive', undefined],
    ])('is the heap, in the mode %s of JDK %s', (mode, jdkMajor) => {
      const { heap, pools } = laidWith(mode, jdkMajor);
      expect(pools.get('Shenandoah')).toEqual(heap);
      expect(heap).toEqual({
        init: beansOf('jdk25-shenandoah').heap.init,
        used: 23_153 * KIB,
        committed: beansOf('jdk25-shenandoah').heap.committed,
        max: 192 * MIB,
      });
    });

    it.each([
      ['generational', 25],
      ['satb generational', 25],
      ['a mode of the future', 25],
    ])('is removed in the mode %s, even if the file has it', (mode, jdkMajor) => {
      const base = { ...EMPTY, pools: new Map([['Shenandoah', { used: 7 }]]) };
      const { heap, pools } = laidWith(mode, jdkMajor, base);
      expect(pools.has('Shenandoah')).toBe(false);
      expect(heap.used).toBe(23_153 * KIB);
    });

    it.each([
      ['by a JDK whose own choice is not known', 'default', 26],
      ['by a JVM whose release is not known', 'default', undefined],
      ['where the flags could not be read', undefined, 25],
    ])('exists only if the file has it %s', (_, mode, jdkMajor) => {
      expect(laidWith(mode, jdkMajor).pools.has('Shenandoah')).toBe(false);
      const base = { ...EMPTY, pools: new Map([['Shenandoah', { used: 7 }]]) };
      expect(laidWith(mode, jdkMajor, base).pools.get('Shenandoah')?.used).toBe(23_153 * KIB);
    });
  });

  it('keeps what a pool had after its last collection', () => {
    const base = { ...EMPTY, pools: new Map([['Eden Space', { used: 1, usedAfterGc: 0, max: 53_739_520 }]]) };
    const laid = laidOver(base, 'jdk25-serial', 'Serial');
    expect(laid.pools.get('Eden Space')).toEqual({
      used: 0x2d_83a0,
      committed: 13_248 * KIB,
      usedAfterGc: 0,
      max: 53_739_520,
    });
  });

  it.each(['metaspace', 'codeHeaps'] as const)('has no sums without %s', (missing) => {
    const laid = layOver(EMPTY, { ...liveOf('jdk17-g1'), [missing]: undefined }, { architecture: 'x64' });
    expect(laid.nonHeap).toEqual({});
    expect(laid.pools.has('Metaspace')).toBe(missing === 'codeHeaps');
  });

  it('removes a class space that the JVM does not have', () => {
    const base = { ...EMPTY, pools: new Map([['Compressed Class Space', { used: 0 }]]) };
    const live = { metaspace: { used: 4, committed: 5, max: -1 } };
    expect([...layOver(base, live, { architecture: 'x64' }).pools.keys()]).toEqual(['Metaspace']);
  });

  it('sums limits up where all pools have one', () => {
    const codeHeaps = [{ name: 'CodeCache', used: 1, committed: 2, max: 10 }];
    const metaspace = { used: 4, committed: 5, max: 20, classSpace: { used: 1, committed: 1, max: 30 } };
    const laid = layOver(EMPTY, { codeHeaps, metaspace }, { architecture: 'x64' });
    expect(laid.nonHeap).toEqual({ used: 6, committed: 8, max: 60 });
  });

  it.each([
    ['on another processor', 'arm64', {}],
    ['with large pages', 'x64', { hasLargePages: true }],
  ])('leaves out the initial size of code heaps %s', (_, architecture, flags) => {
    const live = { ...liveOf('jdk17-g1'), flags: { hasLargePages: false, ...flags } };
    const laid = layOver(EMPTY, live, { architecture });
    expect(laid.nonHeap?.init).toBeUndefined();
    expect(laid.pools.get("CodeHeap 'non-nmethods'")?.init).toBeUndefined();
  });

  it('takes the initial size of code heaps from the flag, up to their size', () => {
    const flags = { hasLargePages: false, initialCodeCacheSize: 8 * MIB };
    const { pools } = layOver(EMPTY, { ...liveOf('jdk17-g1'), flags }, { architecture: 'x64' });
    expect(pools.get("CodeHeap 'profiled nmethods'")?.init).toBe(8 * MIB);
    expect(pools.get("CodeHeap 'non-nmethods'")?.init).toBe(5_828_608);
  });

  it('changes nothing without values', () => {
    const base = fileOf('jdk17-serial');
    expect(layOver(base, {}, { architecture: 'x64' })).toEqual(base);
  });
});
