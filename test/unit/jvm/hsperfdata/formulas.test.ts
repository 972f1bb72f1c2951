import { expect, it } from 'vitest';
import { computeReading } from '../../../../src/jvm/hsperfdata/formulas.ts';
import { Excuses } from '../../../programs/jvm/truth/exceptions.ts';
import { countersOf, SAMPLES, sampleBytes, withNumber } from '../../../support/jvm/hsperfdata/samples.ts';
import { gaugesOf } from '../../../support/jvm/http/sources.ts';
import { beansOf, expectedGauges } from '../../../support/jvm/truth/beans.ts';
import { deviations } from '../../../support/jvm/truth/comparison.ts';

/** The old generation, or all of ZGC's heap. */
const OLD = 'sun.gc.generation.1.space.0';
const read = (bytes: Buffer) => computeReading(countersOf(bytes)).reading;
const readWith = (sample: string, name: string, value: bigint) => read(withNumber(sampleBytes(sample), name, value));

/** By the sample: its collector, and of which moment its memory is. */
const EXPECTED: Record<string, [collector: string, memory: string]> = {
  'jdk17-serial': ['Serial', 'live'],
  'jdk25-serial': ['Serial', 'after-gc'],
  'jdk17-parallel': ['Parallel', 'live'],
  'jdk25-parallel': ['Parallel', 'after-gc'],
  'jdk17-g1': ['G1', 'live'],
  'jdk25-g1': ['G1', 'live'],
  'jdk17-z': ['ZGC', 'after-gc'],
  'jdk25-z': ['GenerationalZGC', 'after-gc'],
  'jdk17-shenandoah': ['Shenandoah', 'live'],
  'jdk25-shenandoah': ['Shenandoah', 'live'],
};

it.each(SAMPLES)('%s: agrees with the MXBeans but for the exceptions that docs/jvm.md lists', (name) => {
  const { collector, reading } = computeReading(countersOf(sampleBytes(name)));
  expect([collector, reading.memory]).toEqual(EXPECTED[name]);
  const [, major, kind = ''] = /^jdk(\d+)-(.*)$/.exec(name) ?? [];
  const excuses = new Excuses(
    'hsperfdata',
    { home: '', major: Number(major) },
    (name === 'jdk25-z' ? 'z-generational' : kind) as ConstructorParameters<typeof Excuses>[2],
  );
  const beans = beansOf(name);
  const gauges = gaugesOf(reading);
  expect(excuses.unexcusedOf(deviations(beans, gauges, beans), beans, reading)).toEqual([]);
  expect(excuses.given(gauges, expectedGauges(beans), beans)).toEqual([]);
});

it('the survivor space is the one in use, and unknown when both seem to be', () => {
  const withOne = withNumber(sampleBytes('jdk17-serial'), 'sun.gc.generation.0.space.2.used', 4096n);
  const { pools, heap } = read(withOne);
  expect([pools.get('Survivor Space')?.used, heap.used]).toEqual([4096, 2527496 + 4096 + 16006904]);
  const both = read(withNumber(withOne, 'sun.gc.generation.0.space.1.used', 4096n));
  expect(both.pools.get('Survivor Space')).toEqual({});
  expect([both.heap.used, both.heap.max]).toEqual([undefined, 194641920]);
});

it('shows no used memory of JDK 25 before the first collection, since nothing is written yet', () => {
  const bytes = withNumber(sampleBytes('jdk25-serial'), 'sun.gc.collector.0.invocations', 0n);
  const { heap, pools } = read(withNumber(bytes, 'sun.gc.collector.1.invocations', 0n));
  expect(heap).toEqual({ committed: 48758784, max: 194641920 });
  expect(pools.get('Tenured Gen')).toEqual({ init: 33554432, committed: 33554432, max: 134217728 });
});

const MIB = 1_048_576n;
const sample = sampleBytes('jdk17-z');
const beans = beansOf('jdk17-z');
const withoutCycle = (bytes: Buffer) => withNumber(bytes, 'sun.gc.collector.2.invocations', 0n);
const withSmallest = (bytes: Buffer, size: bigint) => withNumber(bytes, `${OLD}.initCapacity`, size);

it('ZGC without generations does not report the minimum size as committed before the first cycle, but both for a heap of fixed size', () => {
  const { heap, pools } = read(withoutCycle(withNumber(sample, `${OLD}.capacity`, 8n * MIB)));
  expect(heap).toEqual({ max: beans.heap.max });
  expect(pools.get('ZHeap')).toEqual({ init: beans.pools.ZHeap?.usage.init, max: beans.heap.max });
  const max = BigInt(beans.heap.max);
  const fixed = withNumber(withSmallest(sample, max), `${OLD}.capacity`, max);
  expect(read(withoutCycle(fixed)).heap).toEqual({ init: Number(max), committed: Number(max), max: Number(max) });
});

it('of numbers that contradict each other none is given', () => {
  const inUse = readWith('jdk17-serial', `${OLD}.used`, 33_554_433n);
  expect(inUse.pools.get('Tenured Gen')).toEqual({ init: 33554432, max: 134217728 });
  const committed = readWith('jdk17-serial', `${OLD}.capacity`, 134_217_729n);
  expect(committed.pools.get('Tenured Gen')).toEqual({ init: 33554432, used: 16006904 });
});

it('ticks are divided exactly, also beyond 2^53', () => {
  const ticks = 2n ** 62n + 999_999n;
  const { collectors } = readWith('jdk17-g1', 'sun.gc.collector.0.time', ticks);
  expect(collectors.get('G1 Young Generation')?.timeMs).toBe(Number(ticks / 1_000_000n));
});
