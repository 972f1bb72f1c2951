/** The platform's MXBeans, as Truth.java prints them. Bytes and milliseconds; -1 if a bean reports undefined. */
import { readFileSync } from 'node:fs';
import type { JvmReading } from '../../../../src/jvm/jvm-source.ts';
import { gaugesOf } from '../http/sources.ts';

export type BeanUsage = Readonly<Record<'init' | 'used' | 'committed' | 'max', number>>;

export interface BeanPool {
  readonly type: 'HEAP' | 'NON_HEAP';
  readonly usage: BeanUsage;
  /** Null if the pool is never collected. */
  readonly collectionUsage: BeanUsage | null;
}

export interface Beans {
  /** `loaded` is TotalLoadedClassCount. */
  readonly classes: { readonly loaded: number; readonly unloaded: number };
  readonly heap: BeanUsage;
  readonly nonHeap: BeanUsage;
  readonly pools: Readonly<Record<string, BeanPool>>;
  readonly collectors: Readonly<Record<string, { readonly count: number; readonly timeMs: number }>>;
}

/** E.g. `jvm.memory.pools.G1-Old-Gen.used` => 17219352. */
export type Gauges = ReadonlyMap<string, number>;

/** The gauges of a source that reads all that the beans report. gauges.test.ts holds them against those of Dropwizard. */
export function expectedGauges({ pools, collectors, ...rest }: Beans): Gauges {
  const reading: JvmReading = {
    ...{ ...rest, collectors: new Map(Object.entries(collectors)), memory: 'live' },
    pools: new Map(
      Object.entries(pools).map(([name, { usage, collectionUsage }]) => [
        name,
        collectionUsage === null ? usage : { ...usage, usedAfterGc: collectionUsage.used },
      ]),
    ),
  };
  return gaugesOf(reading);
}

interface Recorded extends Pick<Beans, 'heap' | 'nonHeap'> {
  readonly classes: { readonly total: number; readonly unloaded: number };
  readonly pools: Record<string, Omit<BeanPool, 'collectionUsage'> & { readonly collection: BeanUsage | null }>;
  readonly gc: Record<string, { readonly count: number; readonly time: number }>;
}

/** What the beans said when an answer or a file was recorded, e.g. of `jdk17-g1`. */
export function beansOf(jvm: string): Beans {
  const file = new URL(`../../../fixtures/jvm/hsperfdata/${jvm}.mxbeans.json`, import.meta.url);
  const { classes, heap, nonHeap, pools, gc } = JSON.parse(readFileSync(file, 'utf8')) as Recorded;
  return {
    classes: { loaded: classes.total, unloaded: classes.unloaded },
    ...{ heap, nonHeap },
    pools: mapValues(pools, ({ collection, ...pool }) => ({ ...pool, collectionUsage: collection })),
    collectors: mapValues(gc, ({ count, time }) => ({ count, timeMs: time })),
  };
}

function mapValues<From, To>(record: Record<string, From>, toValue: (from: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, toValue(value)]));
}
