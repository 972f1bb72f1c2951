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
