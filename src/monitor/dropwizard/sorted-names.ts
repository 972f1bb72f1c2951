import type { Turns } from './turns.ts';

const RUN_LENGTH = 1_000;

/**
 * `names` in ascending order of their UTF-16 code units, as Java's `String.compareTo` has it. Sorting 10,000 names at once
 * would hold the event loop for about 10 ms, so this is a merge sort that rests in between.
 */
export async function sortedNames(names: Iterable<string>, turns: Turns): Promise<string[]> {
  const all = [...names];
  if (all.length <= RUN_LENGTH) return all.sort();
  let runs: string[][] = [];
  for (let from = 0; from < all.length; from += RUN_LENGTH) {
    if (turns.due) await turns.rest();
    runs.push(all.slice(from, from + RUN_LENGTH).sort());
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      if (turns.due) await turns.rest();
      merged.push(mergeOf(runs[i] ?? [], runs[i + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function mergeOf(left: readonly string[], right: readonly string[]): string[] {
  const merged: string[] = [];
  let j = 0;
  for (const name of left) {
    for (let other = right[j]; other !== undefined && other < name; other = right[j]) {
      merged.push(other);
      j += 1;
    }
    merged.push(name);
  }
  for (; j < right.length; j += 1) merged.push(right[j] as string);
  return merged;
}
