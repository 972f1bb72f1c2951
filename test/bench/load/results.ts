/** The samples, by round and contestant, and how tables and targets read them. */
export type Figure =
  | 'requests'
  | 'errors'
  | 'cpuUs'
  | 'perSecond'
  | 'p50Us'
  | 'p99Us'
  | 'p99BeforeUs'
  | 'rssMb'
  | 'privateMb'
  | 'fullMb'
  | 'kbPerConnection'
  | 'startMs'
  | 'blockedMs'
  | 'activeMs'
  | 'scrapeMs';

/** One measurement. `cpuUs` is for each request; memory is in units of 2^20 and 2^10 bytes. */
export type Sample = Readonly<Partial<Record<Figure, number>>>;

/** Samples of one round, by the contestant's name. */
export type Round = ReadonlyMap<string, Sample>;

export interface Result {
  readonly rounds: readonly Round[];
  /** Why contestants have no samples, by name. */
  readonly missing: ReadonlyMap<string, string>;
  readonly notes: readonly string[];
}

/** Reads one value of a round; undefined if it is missing. */
export type Read = (round: Round) => number | undefined;

export function valuesOf(result: Result, read: Read): number[] {
  return result.rounds.map(read).filter((value) => value !== undefined);
}

export function figure(name: string, key: Figure): Read {
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
