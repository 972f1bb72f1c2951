/** Answers of real JVMs on their attach sockets, with the same JVM's MXBeans a moment before. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Collector } from '../../../../src/jvm/hsperfdata/formulas.ts';

const FIXTURES = join(import.meta.dirname, '../../../fixtures/jvm');

export interface Sample {
  /** E.g. `jdk17-g1`. */
  readonly name: string;
  readonly jdkMajor: number;
  readonly collector: Collector;
}

export const SAMPLES: readonly Sample[] = [17, 25].flatMap((jdkMajor) => [
  { name: `jdk${jdkMajor}-serial`, jdkMajor, collector: 'Serial' as const },
  { name: `jdk${jdkMajor}-parallel`, jdkMajor, collector: 'Parallel' as const },
  { name: `jdk${jdkMajor}-g1`, jdkMajor, collector: 'G1' as const },
  { name: `jdk${jdkMajor}-z`, jdkMajor, collector: jdkMajor < 24 ? ('ZGC' as const) : ('GenerationalZGC' as const) },
  { name: `jdk${jdkMajor}-shenandoah`, jdkMajor, collector: 'Shenandoah' as const },
]);

export type Question = 'heap_info' | 'metaspace-basic' | 'codecache' | 'flags';

/** As `askJvm` returns it: without the line of the result code. */
export function answerOf(name: string, question: Question): string {
  return readFileSync(join(FIXTURES, 'attach', `${name}.${question}.txt`), 'utf8').replace(/^0\n/, '');
}

export const KIB = 1024;
export const MIB = 1_048_576;
/**
 * How many more bytes may be in use: the commands came a moment after the beans, and printing the beans allocates,
 * loads classes and compiles. In quiet moments of a real JVM, the values are equal.
 */
export const DRIFT = {
  /** To the byte in Serial and Parallel, one page of 2 MiB in ZGC. */
  heapUsed: 2 * MIB,
  /** The open regions of 1 MiB each, and the program's own allocations. */
  g1HeapUsed: 3 * MIB,
  metaspaceUsed: 16 * KIB,
  /** One granule. */
  metaspaceCommitted: 64 * KIB,
  codeUsed: 40 * KIB,
} as const;
