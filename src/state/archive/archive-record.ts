/** Counters by name, e.g. `{ completed: 4 }`. The names are a closed set that may change between versions. */
import type { ArchiveReader } from './archive-reader.ts';
import type { ArchiveWriter } from './archive-writer.ts';

export function saveCounters(out: ArchiveWriter, counters: Readonly<Record<string, number>>): void {
  const entries = Object.entries(counters);
  out.count(entries.length);
  for (const [name, value] of entries) {
    out.name(name);
    out.count(value);
  }
}

export function loadCounters(input: ArchiveReader): Record<string, number> {
  const counters: Record<string, number> = {};
  for (let left = input.count(); left > 0; left -= 1) {
    const name = input.name();
    counters[name] = input.count();
  }
  return counters;
}

/** Saved names that `target` lacks are dropped; names that were not saved become 0. */
export function takeCounters(target: Record<string, number>, saved: Readonly<Record<string, number>>): void {
  for (const name of Object.keys(target)) target[name] = saved[name] ?? 0;
}
