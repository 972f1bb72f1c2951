/** Adds up pools to heap and non-heap, for sources that have only pools. A sum that would be wrong is left out. */
import type { RawUsage } from './reading-builder.ts';

export interface NamedUsage extends RawUsage {
  /** The MXBean's name, e.g. `G1 Eden Space`. */
  readonly name: unknown;
}

/**
 * Used and committed equal the MXBeans' to the byte in a quiet moment, except that the pools of generational Shenandoah
 * leave out memory that is committed and free. The heap's initial size is the sum only for G1 and for Shenandoah
 * without generations. With Serial and Parallel a survivor space is in no pool; ZGC's pools have the minimum size,
 * generational Shenandoah's none.
 */
export function addUp(pools: readonly NamedUsage[], area: 'heap' | 'nonHeap'): RawUsage {
  const isInitExact = area === 'nonHeap' || pools.every(({ name }) => /^(?:G1 |Shenandoah$)/.test(String(name)));
  const hasGenerations = pools.some(({ name }) => /^Shenandoah .* Gen$/.test(String(name)));
  return {
    init: isInitExact ? sumOf(pools, 'init') : undefined,
    used: sumOf(pools, 'used'),
    committed: hasGenerations ? undefined : sumOf(pools, 'committed'),
    max: area === 'heap' ? maxOfHeap(pools) : maxOfNonHeap(pools),
  };
}

function sumOf(pools: readonly NamedUsage[], key: keyof RawUsage): number | undefined {
  const values = pools.map((pool) => pool[key]);
  if (pools.length === 0 || !values.every((value) => typeof value === 'number' && value >= 0)) return undefined;
  return (values as number[]).reduce((sum, value) => sum + value, 0);
}

function maxOfNonHeap(pools: readonly NamedUsage[]): number | undefined {
  return pools.some(({ max }) => max === -1) ? -1 : sumOf(pools, 'max');
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
