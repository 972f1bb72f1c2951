import { NS_PER_S } from '../../base/clock.ts';
import { sanitizeText } from '../../base/shown-text.ts';
import {
  type CollectorUsage,
  type JvmReading,
  JvmSourceError,
  type MemoryUsage,
  type PoolUsage,
} from '../jvm-source.ts';
import type { Connector, JvmThreads, ServerProcess } from '../server-reading.ts';
import { fieldOf, formatError } from './json.ts';

/** Values as the server sent them; anything but a number is left out. */
type Raw<T> = { readonly [Key in keyof T]: unknown };
export type RawUsage = Raw<MemoryUsage>;

/** More than any JVM has; a longer list is rejected. */
export const MAX_BEANS = 64;
const MAX_NAME_CHARS = 128;

/** Collects the values that a source finds, leaves out all that are not numbers, and rejects an empty reading. */
export class ReadingBuilder {
  readonly #pools = new Map<string, PoolUsage>();
  readonly #collectors = new Map<string, CollectorUsage>();
  readonly #connectors: Connector[] = [];
  #process: ServerProcess | undefined;
  /** Attributes of the beans `Runtime` and `OperatingSystem`. */
  #processBeans: object = {};
  classes: Raw<JvmReading['classes']> = {};
  /** E.g. `{"init":1,"used":2,"committed":3,"max":-1}`. */
  heap: unknown;
  nonHeap: unknown;
  threads: Raw<JvmThreads> = {};

  /** Takes what is needed of one MXBean, e.g. of the type `MemoryPool` with `{ Name: 'G1 Old Gen', Usage: { used: 1 } }`. */
  addBean(type: string, bean: unknown): void {
    const of = (...path: readonly string[]) => fieldOf(bean, ...path);
    if (type === 'ClassLoading')
      this.classes = { loaded: of('TotalLoadedClassCount'), unloaded: of('UnloadedClassCount') };
    if (type === 'GarbageCollector') this.addCollector(of('Name'), of('CollectionCount'), of('CollectionTime'));
    if (type === 'Threading')
      this.threads = { live: of('ThreadCount'), daemon: of('DaemonThreadCount'), peak: of('PeakThreadCount') };
    if (type === 'Memory') {
      this.heap = of('HeapMemoryUsage');
      this.nonHeap = of('NonHeapMemoryUsage');
    }
    if (type === 'MemoryPool') {
      const usedAfterGc = of('Type') === 'HEAP' ? of('CollectionUsage', 'used') : undefined;
      this.addPool(of('Name'), of('Usage'), usedAfterGc);
    }
    // The connectors' socket beans have the same type, but no threads.
    if (type === 'ThreadPool' && of('currentThreadsBusy') !== undefined)
      this.addConnector(of('name'), of('currentThreadsBusy'), of('maxThreads'), of('connectionCount'));
    if (type === 'Runtime' || type === 'OperatingSystem') this.#addProcessBean(bean);
  }

  #addProcessBean(bean: unknown): void {
    this.#processBeans = Object.assign(this.#processBeans, bean);
    const of = (key: string) => fieldOf(this.#processBeans, key);
    const [startTime, cpuNs] = [of('StartTime'), of('ProcessCpuTime')];
    if (typeof startTime !== 'number') return;
    this.setProcess(String(startTime), {
      cpuSeconds: typeof cpuNs === 'number' ? cpuNs / NS_PER_S : undefined,
      openDescriptors: of('OpenFileDescriptorCount'),
      maxDescriptors: of('MaxFileDescriptorCount'),
      processors: of('AvailableProcessors'),
    });
  }

  /** `usedAfterGc` for heap pools only: other pools have no collections. */
  addPool(name: unknown, usage: unknown, usedAfterGc?: unknown): void {
    if (!isName(name)) return;
    const pool = { ...readUsage(usage), usedAfterGc: readCount(usedAfterGc) };
    this.#add(this.#pools, name, pool, 'memory pools');
  }

  addCollector(name: unknown, count: unknown, timeMs: unknown): void {
    if (!isName(name)) return;
    this.#add(this.#collectors, name, readCounts({ count, timeMs }), 'collectors');
  }

  /** `name`: as Tomcat writes it, with the port at its end: `"http-nio-127.0.0.1-8080"`. */
  addConnector(name: unknown, busyThreads: unknown, maxThreads: unknown, connections?: unknown): void {
    if (!isName(name) || this.#connectors.length === MAX_BEANS) return;
    const port = /-(\d{1,5})"?$/.exec(name)?.[1];
    this.#connectors.push({
      port: port === undefined ? undefined : Number(port),
      ...readCounts({ busyThreads, maxThreads, connections }),
    });
  }

  /** `id` is unique among the processes of the server. */
  setProcess(id: string, { cpuSeconds, ...counts }: Raw<Omit<ServerProcess, 'id'>>): void {
    this.#process = {
      id,
      cpuSeconds:
        typeof cpuSeconds === 'number' && Number.isFinite(cpuSeconds) && cpuSeconds >= 0 ? cpuSeconds : undefined,
      ...readCounts(counts),
    };
  }

  /** Throws a `JvmSourceError` with this message and code if the reading is empty. */
  build(message: string, code: JvmSourceError['code'] = 'D2S_ERR_JVM_FORMAT'): JvmReading {
    const [classes, heap, nonHeap] = [readCounts(this.classes), readUsage(this.heap), readUsage(this.nonHeap)];
    const [pools, collectors] = [this.#pools, this.#collectors];
    const found = [classes, heap, nonHeap, ...pools.values(), ...collectors.values()];
    if (!found.some(hasValue)) throw new JvmSourceError(code, message);
    const [connectors, threads, process] = [this.#connectors, readCounts(this.threads), this.#process];
    const hasNoServer = connectors.length === 0 && !hasValue(threads) && !hasValue({ ...process, id: undefined });
    const server = hasNoServer ? undefined : { connectors, threads, process };
    return { classes, heap, nonHeap, pools, collectors, server, memory: 'live' };
  }

  #add<Usage extends object>(to: Map<string, Usage>, name: string, usage: Usage, what: string): void {
    if (!hasValue(usage)) return;
    if (to.size === MAX_BEANS && !to.has(name))
      throw formatError(`The answer names more than ${MAX_BEANS} ${what}: no JVM has so many.`);
    to.set(name, usage);
  }
}

/** `MemoryPool` for `java.lang:name=G1 Eden Space,type=MemoryPool`, in any order. */
export function typeOfBean(objectName: string): string {
  return /[:,]type=([^,]*)/.exec(objectName)?.[1] ?? '';
}

function readCount(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function readCounts<Key extends string>(
  raw: { readonly [K in Key]?: unknown },
): { readonly [K in Key]?: number | undefined } {
  const counts = Object.entries(raw).map(([key, value]) => [key, readCount(value)]);
  return Object.fromEntries(counts) as { readonly [K in Key]?: number | undefined };
}

/** Like `readCount`, but also accepts -1, an MXBean's value for no limit or not set. */
function readLimit(value: unknown): number | undefined {
  return value === -1 ? -1 : readCount(value);
}

function readUsage(usage: unknown): MemoryUsage {
  const of = (key: keyof MemoryUsage) => fieldOf(usage, key);
  return {
    init: readLimit(of('init')),
    used: readCount(of('used')),
    committed: readCount(of('committed')),
    max: readLimit(of('max')),
  };
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name !== '' && name.length <= MAX_NAME_CHARS && sanitizeText(name) === name;
}

function hasValue(group: object): boolean {
  return Object.values(group).some((value) => value !== undefined);
}

/** With the MXBean's name, e.g. `G1 Eden Space`. */
export type NamedUsage = RawUsage & { readonly name: unknown };

/**
 * Adds up pools to heap or non-heap, for sources that have only pools. A sum that would be wrong is left out.
 *
 * Used and committed equal the MXBeans' to the byte in a quiet moment, except that the pools of generational Shenandoah
 * leave out memory that is committed and free. The heap's initial size is the sum only for G1 and for Shenandoah
 * without generations. With Serial and Parallel a survivor space is in no pool; ZGC's pools have the minimum size,
 * generational Shenandoah's none.
 */
export function addUp(pools: readonly NamedUsage[], area: 'heap' | 'nonHeap'): RawUsage {
  const isInitExact = area === 'nonHeap' || pools.every(({ name }) => /^(?:G1 |Shenandoah$)/.test(String(name)));
  const hasGenerations = pools.some(({ name }) => /^Shenandoah .* Gen$/.test(String(name)));
  const maxOfNonHeap = pools.some(({ max }) => max === -1) ? -1 : sumOf(pools, 'max');
  return {
    init: isInitExact ? sumOf(pools, 'init') : undefined,
    used: sumOf(pools, 'used'),
    committed: hasGenerations ? undefined : sumOf(pools, 'committed'),
    max: area === 'heap' ? maxOfHeap(pools) : maxOfNonHeap,
  };
}

function sumOf(pools: readonly NamedUsage[], key: keyof RawUsage): number | undefined {
  const values = pools.map((pool) => pool[key]);
  if (pools.length === 0 || !values.every((value) => typeof value === 'number' && value >= 0)) return undefined;
  return (values as number[]).reduce((sum, value) => sum + value, 0);
}

/**
 * G1: the old generation's maximum. Generational ZGC: that of either, since each may take the whole heap. One pool: its
 * own. Serial: the sum. Parallel moves the borders between its pools, so their sum is not the heap's: unknown.
 */
function maxOfHeap(pools: readonly NamedUsage[]): unknown {
  const byName = new Map(pools.map((pool) => [pool.name, pool.max]));
  if (byName.has('G1 Old Gen')) return byName.get('G1 Old Gen');
  if (byName.has('ZGC Old Generation')) return byName.get('ZGC Old Generation');
  if (pools.length === 1) return pools[0]?.max;
  return byName.has('Tenured Gen') ? sumOf(pools, 'max') : undefined;
}
