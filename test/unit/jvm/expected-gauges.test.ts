/**
 * The yardstick of the JVM tests, held against what the real library (Dropwizard Metrics 3.2.6) showed in ten JVMs, whose
 * MXBeans were printed 0.1 s before. 4.2 differs from it in two gauges, which are held against 4.2's rule.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Beans, BeanUsage } from '../../support/jvm/truth/beans.ts';
import { deviations } from '../../support/jvm/truth/comparison.ts';
import { expectedGauges } from '../../support/jvm/truth/expected-gauges.ts';

const FOLDER = fileURLToPath(new URL('../../fixtures/jvm/dropwizard/', import.meta.url));
const JVMS = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.mxbeans.json'))
  .map((file) => file.replace('.mxbeans.json', ''));

/** What 4.2 changed: both count a limit of -1 as none. */
const CHANGED_SINCE_3_2 = ['jvm.memory.non-heap.usage', 'jvm.memory.total.max'];
const PREFIXES = { cl: 'jvm.classloader', mem: 'jvm.memory', gc: 'jvm.garbagecollector' } as const;

interface Sample {
  readonly heap: BeanUsage;
  readonly nonHeap: BeanUsage;
  readonly pools: Record<string, { type: 'HEAP' | 'NON_HEAP'; usage: BeanUsage; collection: BeanUsage | null }>;
  readonly gc: Record<string, { count: number; time: number }>;
  readonly classes: { readonly total: number; readonly unloaded: number };
}

function beansOf(jvm: string): Beans {
  const sample = JSON.parse(readFileSync(join(FOLDER, `${jvm}.mxbeans.json`), 'utf8')) as Sample;
  return {
    classes: { loaded: sample.classes.total, unloaded: sample.classes.unloaded },
    heap: sample.heap,
    nonHeap: sample.nonHeap,
    pools: mapValues(sample.pools, ({ type, usage, collection }) => ({ type, usage, collectionUsage: collection })),
    collectors: mapValues(sample.gc, ({ count, time }) => ({ count, timeMs: time })),
  };
}

function mapValues<From, To>(record: Record<string, From>, toValue: (from: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, toValue(value)]));
}

function dropwizardGauges(jvm: string): Map<string, number> {
  const sample = JSON.parse(readFileSync(join(FOLDER, `${jvm}.dropwizard-3.2.6.json`), 'utf8')) as object;
  return new Map(
    Object.entries(sample).map(([name, value]) => {
      const [set = '', ...rest] = name.split('.');
      return [[PREFIXES[set as keyof typeof PREFIXES], ...rest].join('.'), Number(value)];
    }),
  );
}

it('has a sample of each collector on two JDKs', () => {
  expect(JVMS).toHaveLength(10);
});

describe.each(JVMS)('the gauges expected of %s', (jvm) => {
  const beans = beansOf(jvm);
  const expected = expectedGauges(beans);
  const shown = dropwizardGauges(jvm);

  it('have the names of the library', () => {
    expect([...expected.keys()].sort()).toEqual([...shown.keys()].sort());
  });

  it('equal its values, except for what changed within a tenth of a second', () => {
    const differing = deviations(beans, shown, beans).map((deviation) => deviation.gauge);
    const moved = differing.filter((gauge) => !CHANGED_SINCE_3_2.includes(gauge));
    // Printing the beans and loading the library compiled code, loaded classes and touched new regions.
    const isMoving = /\.pools\.(?:CodeHeap-\S+|Metaspace|\S*Eden-Space)\.(?:used|committed|usage)$/;
    expect(moved.filter((gauge) => !isMoving.test(gauge))).toEqual([]);
  });

  it('have no total of limited and unlimited memory, and a ratio to the committed size', () => {
    expect(expected.get('jvm.memory.total.max')).toBe(-1);
    expect(expected.get('jvm.memory.non-heap.usage')).toBe(beans.nonHeap.used / beans.nonHeap.committed);
  });
});

describe('a comparison', () => {
  const beans = beansOf('jdk17-g1');
  const right = expectedGauges(beans);
  const withGauge = (name: string, value: number) => deviations(beans, new Map(right).set(name, value), beans);

  it('finds no deviation in the beans’ own gauges', () => {
    expect(deviations(beans, right, beans)).toEqual([]);
  });

  it('allows no count and no maximum beside the beans', () => {
    for (const name of [
      'jvm.classloader.loaded',
      'jvm.garbagecollector.G1-Young-Generation.time',
      'jvm.memory.heap.max',
    ]) {
      const value = right.get(name) as number;
      expect(withGauge(name, value + 1)).toEqual([
        { kind: 'differs', gauge: name, value: value + 1, low: value, high: value, difference: 1 },
      ]);
    }
  });

  it('allows other memory 2 % beside the beans, not 3', () => {
    const value = right.get('jvm.memory.heap.used') as number;
    expect(withGauge('jvm.memory.heap.used', value * 1.02)).toEqual([]);
    expect(withGauge('jvm.memory.heap.used', value * 0.98)).toEqual([]);
    expect(withGauge('jvm.memory.heap.used', value * 1.03)).toMatchObject([{ kind: 'differs' }]);
    expect(withGauge('jvm.memory.heap.used', value * 0.97)).toMatchObject([{ kind: 'differs' }]);
  });

  it('finds missing gauges and gauges without a bean', () => {
    const gauges = new Map(right).set('jvm.memory.pools.PermGen.used', 1);
    gauges.delete('jvm.memory.heap.init');
    expect(deviations(beans, gauges, beans)).toEqual([
      { kind: 'missing', gauge: 'jvm.memory.heap.init' },
      { kind: 'unexpected', gauge: 'jvm.memory.pools.PermGen.used', value: 1 },
    ]);
  });
});
