/** The samples, by round and contestant, and how tables and targets read them. */
import { medianOf } from './statistics.ts';

/** One measurement. `cpuUs` is for each request; memory (`rssMb`, `fullMb`) is in units of 2^20 bytes. */
export type Sample = Readonly<Record<string, number>>;

/** Samples of one round, by the contestant's name. */
export type Round = ReadonlyMap<string, Sample>;

export interface Result {
  readonly rounds: readonly Round[];
  /** Why contestants have no samples, by title; errors in samples. */
  readonly notes: readonly string[];
}

/** Reads one value of a round; undefined if it is missing. */
export type Read = (round: Round) => number | undefined;

export function valuesOf(result: Result, read: Read): number[] {
  return result.rounds.map(read).filter((value) => value !== undefined);
}

export function figure(name: string, key: string): Read {
  return (round) => round.get(name)?.[key];
}

/** The ratio of two values of the same round, so that a slow round cancels out. */
export function ratio(over: Read, under: Read): Read {
  return (round) => {
    const [a, b] = [over(round), under(round)];
    // A ratio to zero, or to a negative number (an added latency below the noise), means nothing.
    return a === undefined || b === undefined || b <= 0 ? undefined : a / b;
  };
}

export function difference(left: Read, right: Read): Read {
  return (round) => {
    const [a, b] = [left(round), right(round)];
    return a === undefined || b === undefined ? undefined : a - b;
  };
}

/** `35.1 (34.0–36.2)`: the median, the lowest and the highest; without brackets when there is one value only, '' without any. */
export function toText(values: readonly number[], digits: number): string {
  const [median, least, most] = [medianOf(values), Math.min(...values), Math.max(...values)].map((value) =>
    value.toFixed(digits),
  );
  if (values.length === 0) return '';
  return values.length === 1 ? `${median}` : `${median} (${least}–${most})`;
}
