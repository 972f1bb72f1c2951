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
const PREFIXES: Record<string, string> = { cl: 'jvm.classloader', mem: 'jvm.memory', gc: 'jvm.garbagecollector' };

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
