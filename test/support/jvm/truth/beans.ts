/** The platform's MXBeans, as Truth.java prints them. Bytes and milliseconds; -1 if a bean reports undefined. */

export interface BeanUsage {
  readonly init: number;
  readonly used: number;
  readonly committed: number;
  readonly max: number;
}

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
