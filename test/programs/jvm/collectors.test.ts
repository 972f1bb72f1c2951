/**
 * Real JVMs, each with each collector that it has: the gauges of the sources against the MXBeans of the same JVM, read just
 * before and just after. Counts, times and maxima have to be exact, other memory within 2 %, and whatever a source cannot
 * do is in `EXCEPTIONS` and in docs/jvm.md. Needs a JDK in /usr/lib/jvm.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toJvmGauges, toMetricSet } from '../../../src/jvm/gauges.ts';
import type { JvmReading } from '../../../src/jvm/jvm-reading.ts';
import type { JvmSource } from '../../../src/jvm/jvm-source.ts';
import type { Beans } from '../../support/jvm/truth/beans.ts';
import { type Deviation, deviations } from '../../support/jvm/truth/comparison.ts';
import { expectedGauges, type Gauges } from '../../support/jvm/truth/expected-gauges.ts';
import { isAvailable } from '../../support/programs.ts';
import { EXCEPTIONS, type SourceName, toDocumentLine } from './truth/exceptions.ts';
import { Excuses } from './truth/excuses.ts';
import { openSource, READ_TIMEOUT_MS } from './truth/sources.ts';
import {
  type Collector,
  collectorsOf,
  compileTruth,
  installedJvms,
  isCompilerInstalled,
  type Jvm,
  startTruth,
  type Truth,
} from './truth/truth.ts';

const isInstalled = isAvailable('a JDK', isCompilerInstalled());

/** One refresh: what JDKs up to 24 sample each 50 ms, Shenandoah each 100 ms. */
const REFRESH_MS = 60;
/** A collection or a compilation between two looks spoils a comparison; three in a row are quiet sooner or later. */
const TRIES = 12;

const HEAPS = { 'a fixed start': ['-Xms32m', '-Xmx96m'], 'a start of its own choice': ['-Xmx96m'] } as const;
/** Other pools: one code heap, no class space, a limit to Metaspace. */
const OTHER_POOLS = [
  '-Xmx96m',
  '-XX:-SegmentedCodeCache',
  '-XX:-UseCompressedClassPointers',
  '-XX:MaxMetaspaceSize=64m',
  '-XX:+IgnoreUnrecognizedVMOptions',
];

interface Case {
  readonly name: string;
  readonly jvm: Jvm;
  readonly collector: Collector;
  readonly options: readonly string[];
}

async function casesOf(jvm: Jvm): Promise<Case[]> {
  const cases: Case[] = [];
  for (const collector of await collectorsOf(jvm)) {
    for (const [heap, options] of Object.entries(HEAPS)) {
      cases.push({ name: `JDK ${jvm.major}, ${collector}, ${heap}`, jvm, collector, options });
    }
  }
  const jvmWithOtherPools = { name: `JDK ${jvm.major}, serial, other pools`, jvm, collector: 'serial' } as const;
  return [...cases, { ...jvmWithOtherPools, options: OTHER_POOLS }];
}

const cases = isInstalled ? (await Promise.all(installedJvms().map(casesOf))).flat() : [];

function gaugesOf(reading: JvmReading): Gauges {
  return new Map([...toMetricSet(toJvmGauges(reading)).gauges].map(([name, gauge]) => [name, Number(gauge.read())]));
}

interface Look {
  readonly before: Beans;
  readonly reading: JvmReading;
  readonly found: readonly Deviation[];
}

async function look(truth: Truth, source: JvmSource): Promise<Look> {
  const before = await truth.beans();
  const reading = await source.read(AbortSignal.timeout(READ_TIMEOUT_MS));
  const after = await truth.beans();
  return { before, reading, found: deviations(before, gaugesOf(reading), after) };
}

/** What is neither as the beans have it nor excused, in the best of some looks. */
async function unexcused(truth: Truth, source: JvmSource, excuses: Excuses): Promise<readonly Deviation[]> {
  let best: readonly Deviation[] | undefined;
  for (let tries = 0; tries < TRIES && best?.length !== 0; tries += 1) {
    await delay(REFRESH_MS);
    const { before, reading, found } = await look(truth, source);
    const left = excuses.unexcusedOf(found, before, reading);
    if (best === undefined || left.length < best.length) best = left;
  }
  return best ?? [];
}

/** What is done to a JVM before each comparison: beginning, garbage, a collection, unloading and new load. */
const PHASES: Readonly<Record<string, (truth: Truth) => Promise<void>>> = {
  'after its start': async () => undefined,
  'with garbage and classes': async (truth) => {
    await truth.loadClasses(60);
    await truth.keep(8);
    await truth.allocate(10);
  },
  'after a collection': (truth) => truth.gc(),
  'after unloading, and with new load': async (truth) => {
    await truth.dropClasses();
    await truth.gc();
    await truth.loadClasses(30);
    await truth.keep(3);
  },
};

const SOURCES: readonly SourceName[] = ['hsperfdata', 'hsperfdata+attach'];

describe.runIf(isInstalled)('the gauges of a real JVM', () => {
  let compiled: Awaited<ReturnType<typeof compileTruth>>;

  beforeAll(async () => {
    compiled = await compileTruth();
  });

  afterAll(() => compiled.remove());

  it('come from JVMs with collectors', () => {
    expect(cases.length).toBeGreaterThanOrEqual(3);
  });

  for (const name of SOURCES) {
    it.each(cases)(`are those of its MXBeans by ${name}: $name`, async ({ jvm, collector, options }) => {
      const truth = await startTruth({ jvm, collector, options, classPath: compiled.classPath });
      const source = openSource(name, { pid: truth.pid });
      const excuses = new Excuses(name, jvm, collector);
      try {
        for (const [phase, prepare] of Object.entries(PHASES)) {
          await prepare(truth);
          expect(await unexcused(truth, source, excuses), phase).toEqual([]);
          const { before, reading } = await look(truth, source);
          const given = gaugesOf(reading);
          const bean = expectedGauges(before);
          // An exception that is none any more has to go from the list and from the document.
          expect(excuses.given(given, bean, before), `${phase}: given, though listed as absent`).toEqual([]);
          if (name === 'hsperfdata+attach') expect(reading.memory, phase).toBe('live');
        }
      } finally {
        source.close();
        await truth.stop();
      }
    });
  }
});

describe('docs/jvm.md', () => {
  it('lists each exception, and no other', () => {
    const text = readFileSync(fileURLToPath(new URL('../../../docs/jvm.md', import.meta.url)), 'utf8');
    const [, section = ''] = text.split(/^## Exceptions$/m);
    const [table = ''] = section.split('\n## ');
    const lines = table.split('\n').filter((line) => line.startsWith('| ') && !/^\| (?:Gauges|-)/.test(line));
    expect(lines.map((line) => line.replace(/ {2,}/g, ' '))).toEqual(EXCEPTIONS.map(toDocumentLine));
  });
});
