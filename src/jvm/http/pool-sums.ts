/** Heap and non-heap by adding up pools, for sources that tell only these. What a sum would tell wrongly is left out. */
import type { RawUsage } from './reading-builder.ts';

export interface NamedUsage extends RawUsage {
  /** The bean's own, e.g. `G1 Eden Space`. */
  readonly name: unknown;
}

/**
 * Used and committed are the beans' to the byte in a quiet moment, but for the generations of Shenandoah, whose pools leave out
 * what is committed and free. Initial size: of the heap only where it is the sum of the pools' (G1, Shenandoah without
 * generations); in others a survivor space is in no pool (Serial, Parallel), or the pools know the smallest size (ZGC) or none
 * (generations of Shenandoah). Maximum: see below.
 */
export function addUp(pools: readonly NamedUsage[], area: 'heap' | 'non-heap'): RawUsage {
  const isInitExact = area === 'non-heap' || pools.every(({ name }) => /^(?:G1 |Shenandoah$)/.test(String(name)));
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
 * G1: that of its old generation. Generational ZGC: that of either, since each may take all. One pool: its own. Serial: the sum.
 * Parallel moves the borders between its pools, so that their sum is not the heap's: unknown.
 */
function maxOfHeap(pools: readonly NamedUsage[]): unknown {
  const byName = new Map(pools.map((pool) => [pool.name, pool.max]));
  if (byName.has('G1 Old Gen')) return byName.get('G1 Old Gen');
  if (byName.has('ZGC Old Generation')) return byName.get('ZGC Old Generation');
  if (pools.length === 1) return pools[0]?.max;
  return byName.has('Tenured Gen') ? sumOf(pools, 'max') : undefined;
}
