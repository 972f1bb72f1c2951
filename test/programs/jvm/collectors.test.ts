/** Real JVMs, each with each collector that it has: the gauges of the sources against the MXBeans of the same JVM, read just before and just after. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { JvmSource } from '../../../src/jvm/jvm-source.ts';
import { deferTo } from '../../support/deferred.ts';
import { gaugesOf } from '../../support/jvm/http/sources.ts';
import { expectedGauges } from '../../support/jvm/truth/beans.ts';
import { compare, type Deviation } from '../../support/jvm/truth/comparison.ts';
import { EXCEPTIONS, Excuses, toDocumentCells } from './truth/exceptions.ts';
import { openSource } from './truth/sources.ts';
import {
  type Collector,
  collectorsOf,
  compileTruth,
  hasJdk,
  JVMS,
  type Jvm,
  startTruth,
  type Truth,
} from './truth/truth.ts';

/** One refresh: what JDKs up to 24 sample each 50 ms, Shenandoah each 100 ms. */
const REFRESH_MS = 60;
/**
 * A collection or a compilation between two readings spoils a comparison. Sooner or later three readings in a row are
 * quiet.
 */
const TRIES = 12;

/** Other pools: one code heap, no class space, a limit to Metaspace. */
const OTHER_POOLS = ['-XX:-SegmentedCodeCache', '-XX:-UseCompressedClassPointers', '-XX:MaxMetaspaceSize=64m'];

async function casesOf(jvm: Jvm) {
  const toCase = (collector: Collector, heap: string, ...options: readonly string[]) => ({
    ...{ name: `JDK ${jvm.major}, ${collector}, ${heap}`, jvm, collector, options: ['-Xmx96m', ...options] },
  });
  return [
    ...(await collectorsOf(jvm)).flatMap((collector) => [
      toCase(collector, 'a fixed start', '-Xms32m'),
      toCase(collector, 'a start of its own choice'),
    ]),
    toCase('serial', 'other pools', ...OTHER_POOLS, '-XX:+IgnoreUnrecognizedVMOptions'),
    toCase('serial', 'other code heaps', '-XX:InitialCodeCacheSize=8m'),
    toCase('serial', 'its smallest compiler only', '-XX:TieredStopAtLevel=1'),
    toCase('serial', 'the settings of a small machine', '-XX:+NeverActAsServerClassMachine'),
  ];
}

const cases = (await Promise.all(JVMS.map(casesOf))).flat();

/** Gauges that neither equal the beans nor are excused, in the best of several attempts. */
async function unexcused(truth: Truth, source: JvmSource, excuses: Excuses): Promise<readonly Deviation[]> {
  let best: readonly Deviation[] | undefined;
  for (let tries = 0; tries < TRIES && best?.length !== 0; tries += 1) {
    // Shenandoah refreshes its counters only while the heap is used.
    if (tries > 0) await truth.tell('allocate 1');
    await delay(REFRESH_MS);
    const { before, reading, found } = await compare(source, () => truth.beans());
    const left = excuses.unexcusedOf(found, before, reading);
    if (best === undefined || left.length < best.length) best = left;
  }
  return best ?? [];
}

const PHASES: Readonly<Record<string, readonly string[]>> = {
  'after its start': [],
  'with garbage and classes': ['load 60', 'keep 8', 'allocate 10'],
  'after a collection': ['gc'],
  'after unloading, and with new load': ['drop', 'gc', 'load 30', 'keep 3'],
};

describe.runIf(hasJdk)('the gauges of a real JVM', () => {
  const defer = deferTo(afterEach);
  const deferToEnd = deferTo(afterAll);
  let classPath: string;
  beforeAll(async () => {
    classPath = await compileTruth(deferToEnd);
  });

  for (const name of ['hsperfdata', 'hsperfdata+attach'] as const) {
    it.each(cases)(`are those of its MXBeans by ${name}: $name`, async ({ jvm, collector, options }) => {
      const truth = await startTruth(defer, { jvm, collector, options, classPath });
      const source = openSource(name, truth.pid);
      defer(() => source.close());
      const excuses = new Excuses(name, jvm, collector);
      for (const [phase, commands] of Object.entries(PHASES)) {
        for (const command of commands) await truth.tell(command);
        expect(await unexcused(truth, source, excuses), phase).toEqual([]);
        const { before, reading } = await compare(source, () => truth.beans());
        // Remove an obsolete exception from the list and from the document.
        const given = excuses.given(gaugesOf(reading), expectedGauges(before), before);
        expect(given, `${phase}: given, though listed as absent`).toEqual([]);
        if (name === 'hsperfdata+attach') expect(reading.memory, phase).toBe('live');
      }
    });
  }
});

it('docs/jvm.md lists each exception, and no other', () => {
  const text = readFileSync(new URL('../../../docs/jvm.md', import.meta.url), 'utf8');
  const [, section = ''] = text.split(/^## Exceptions$/m);
  const [table = ''] = section.split('\n## ');
  const rows = table.split('\n').filter((line) => line.startsWith('| ') && !/^\| (?:Gauges|-)/.test(line));
  const cells = rows.map((line) => line.split('|').map((cell) => cell.trim()));
  expect(cells.map((row) => row.slice(1, 4))).toEqual(EXCEPTIONS.map(toDocumentCells));
});
