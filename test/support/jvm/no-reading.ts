import type { JvmReading } from '../../../src/jvm/jvm-source.ts';

/** A reading without any value. */
export const NO_READING: JvmReading = {
  ...{ classes: {}, heap: {}, nonHeap: {}, pools: new Map(), collectors: new Map(), memory: 'after-gc' },
};
