/**
 * The gauges of ten JVMs, held against those that the real library (Dropwizard Metrics 3.2.6) showed, whose MXBeans were
 * printed 0.1 s before. 4.2 differs from it in two gauges, which are held against 4.2's rule.
 */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { SAMPLES } from '../../support/jvm/hsperfdata/samples.ts';
import { beansOf, expectedGauges } from '../../support/jvm/truth/beans.ts';
import { deviations } from '../../support/jvm/truth/comparison.ts';

/** What 4.2 changed: both count a limit of -1 as none. */
const CHANGED_SINCE_3_2 = ['jvm.memory.non-heap.usage', 'jvm.memory.total.max'];
const PREFIXES: Readonly<Record<string, string>> = {
  cl: 'jvm.classloader',
  mem: 'jvm.memory',
  gc: 'jvm.garbagecollector',
};

const read = (file: string): object =>
  JSON.parse(readFileSync(new URL(`../../fixtures/jvm/dropwizard/${file}`, import.meta.url), 'utf8'));

it.each(SAMPLES)('the gauges of %s have the names and values of the library', (jvm) => {
  const beans = beansOf(jvm);
  const gauges = expectedGauges(beans);
  const shown = new Map(
    Object.entries(read(`${jvm}.dropwizard-3.2.6.json`)).map(([name, value]) => [
      name.replace(/^\w+/, (set) => PREFIXES[set] ?? set),
      Number(value),
    ]),
  );
  expect([...gauges.keys()].sort()).toEqual([...shown.keys()].sort());
  // Printing the beans and loading the library compiled code, loaded classes and touched new regions, in a tenth of a second.
  const isMoving = /\.pools\.(?:CodeHeap-\S+|Metaspace|\S*Eden-Space)\.(?:used|committed|usage)$/;
  const differing = deviations(beans, shown, beans).map(({ gauge }) => gauge);
  expect(differing.filter((gauge) => !CHANGED_SINCE_3_2.includes(gauge) && !isMoving.test(gauge))).toEqual([]);
  expect(gauges.get('jvm.memory.total.max')).toBe(-1);
  expect(gauges.get('jvm.memory.non-heap.usage')).toBe(beans.nonHeap.used / beans.nonHeap.committed);
});

const beans = beansOf('jdk17-g1');
const right = expectedGauges(beans);

it.each(['jvm.classloader.loaded', 'jvm.garbagecollector.G1-Young-Generation.time', 'jvm.memory.heap.max'])(
  'a comparison allows no %s beside the beans',
  (gauge) => {
    const low = right.get(gauge) as number;
    const found = deviations(beans, new Map(right).set(gauge, low + 1), beans);
    expect(found).toEqual([{ kind: 'differs', gauge, value: low + 1, low, high: low, difference: 1 }]);
  },
);

it('a comparison allows other memory 2 % beside the beans, not 3', () => {
  const used = right.get('jvm.memory.heap.used') as number;
  const countAt = (factor: number) =>
    deviations(beans, new Map(right).set('jvm.memory.heap.used', used * factor), beans).length;
  expect([1.02, 0.98, 1.03, 0.97].map(countAt)).toEqual([0, 0, 1, 1]);
});

it('a comparison finds missing gauges and gauges without a bean', () => {
  const gauges = new Map(right).set('jvm.memory.pools.PermGen.used', 1);
  gauges.delete('jvm.memory.heap.init');
  expect(deviations(beans, gauges, beans)).toEqual([
    { kind: 'missing', gauge: 'jvm.memory.heap.init' },
    { kind: 'unexpected', gauge: 'jvm.memory.pools.PermGen.used', value: 1 },
  ]);
});
