/**
 * What each name did in each minute of the last hour. A name takes about 100 bytes in a minute in which it had calls;
 * beyond `MAX_BYTES` the oldest minute goes first.
 */
import { NS_PER_S } from '../../base/clock.ts';
import type { MinuteReading } from '../../metrics/call-counts.ts';
import { bucketOf, FINE_PER_OCTAVE, mergedBuckets, middleOf, SparseBuckets } from '../../metrics/sparse-buckets.ts';
import type { Statistics } from '../../metrics/statistics.ts';

export type NameKind = 'rpc' | 'sba' | 'object';

/** What is counted. */
export type MinuteSources = Pick<Statistics, NameKind>;

/** One name in one minute. Durations are in seconds, null without an answered call. */
export interface NameMinute extends Omit<MinuteReading, 'maxNs' | 'buckets'> {
  /** End of the minute, in milliseconds since 1970. */
  readonly epochMs: number;
  /** Longer than 60 if the process was blocked. */
  readonly seconds: number;
  /** Of objects: received values. */
  readonly values: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly max: number | null;
  /** Calls by duration; the bounds are `HEAT_BOUNDS_S`. Empty without calls. */
  readonly heat: readonly number[];
}

const MAX_MINUTES = 60;
/** Of all minutes of one application. */
const MAX_BYTES = 16 * 1024 * 1024;
const BYTES_PER_CELL = 8;
/** A name's place in the list of a minute. Its text is shared with `NameTable`, which admits a bounded number of bytes. */
const BYTES_PER_NAME = 16;
const US_PER_S = 1_000_000;

/** Upper bounds of the rows of a heat map: four in each decade from 1 ms to 100 s. One more row has no bound. */
export const HEAT_BOUNDS_S: readonly number[] = Array.from({ length: 21 }, (_, at) =>
  Number((10 ** (at / 4 - 3)).toPrecision(2)),
);
const HEAT_BUCKETS = HEAT_BOUNDS_S.map((bound) => bucketOf(Math.round(bound * US_PER_S), FINE_PER_OCTAVE));

/** The names of one kind in one minute; `''` stands for calls without a name. */
export interface NameRows {
  readonly names: readonly string[];
  /** Where the cells of each name end. */
  readonly ends: readonly number[];
  /** Of a call: ok, client errors, errors, late, maximum in ns, then the elements of its buckets. Of an object: values. */
  readonly cells: Float64Array;
}

export interface Minute {
  /** Its end, in milliseconds since 1970. */
  readonly epochMs: number;
  readonly seconds: number;
  readonly kinds: Readonly<Record<NameKind, NameRows>>;
}

export class MinuteRecord {
  readonly #sources: MinuteSources;
  /** Oldest first. */
  readonly #minutes: Minute[] = [];
  bytes = 0;
  /** Minutes that went early, for want of room. */
  dropped = 0;

  /** `earlier`: of an earlier process, oldest first. */
  constructor(sources: MinuteSources, earlier: readonly Minute[] = []) {
    this.#sources = sources;
    for (const { epochMs, seconds, kinds } of earlier) this.#keep({ epochMs, seconds, kinds });
  }

  take(minute: Pick<Minute, 'epochMs' | 'seconds'>): Minute {
    const { rpc, sba, object } = this.#sources;
    const kinds = {
      rpc: collectRows(rpc.countsByName, (calls) => encode(calls.minute.take())),
      sba: collectRows(sba.countsByName, (calls) => encode(calls.minute.take())),
      object: collectRows(object.objects, (object) => encodeValues(object.takeMinute())),
    };
    const taken = { ...minute, kinds };
    this.#keep(taken);
    return taken;
  }

  #keep(minute: Minute): void {
    this.#minutes.push(minute);
    this.bytes += bytesOf(minute);
    if (this.#minutes.length > MAX_MINUTES) this.#dropOldest();
    while (this.bytes > MAX_BYTES && this.#minutes.length > 1) {
      this.#dropOldest();
      this.dropped += 1;
    }
  }

  /** Each kept minute, oldest first, also those in which the name did nothing, and then `running`, which has not ended. */
  of(kind: NameKind, name: string, running: Pick<Minute, 'epochMs' | 'seconds'>): NameMinute[] {
    const ended = this.#minutes.map(({ epochMs, seconds, kinds }) => {
      const { names, ends, cells } = kinds[kind];
      const at = names.indexOf(name);
      const row = at < 0 ? [] : Array.from(cells.subarray(ends[at - 1] ?? 0, ends[at]));
      return { epochMs, seconds, ...describe(kind, row) };
    });
    const row =
      kind === 'object'
        ? encodeValues(this.#sources.object.objects.get(name)?.minuteValues ?? 0)
        : encode(this.#sources[kind].countsByName.get(name)?.minute.read());
    return [...ended, { ...running, ...describe(kind, row) }];
  }

  #dropOldest(): void {
    const oldest = this.#minutes.shift();
    if (oldest !== undefined) this.bytes -= bytesOf(oldest);
  }
}

function collectRows<Counts>(
  byName: ReadonlyMap<string, Counts>,
  rowOf: (counts: Counts) => readonly number[],
): NameRows {
  const names: string[] = [];
  const ends: number[] = [];
  const cells: number[] = [];
  for (const [name, counts] of byName) {
    const row = rowOf(counts);
    if (row.length === 0) continue;
    for (const cell of row) cells.push(cell);
    names.push(name);
    ends.push(cells.length);
  }
  return { names, ends, cells: Float64Array.from(cells) };
}

function encode(reading: MinuteReading | undefined): readonly number[] {
  if (reading === undefined) return [];
  const { ok, clientErrors, errors, late, maxNs, buckets } = reading;
  return [ok, clientErrors, errors, late, maxNs, ...buckets];
}

function encodeValues(values: number): readonly number[] {
  return values === 0 ? [] : [values];
}

function describe(kind: NameKind, row: readonly number[]): Omit<NameMinute, 'epochMs' | 'seconds'> {
  const values = kind === 'object' ? (row[0] ?? 0) : 0;
  const { maxNs, buckets, ...counts } = decode(kind === 'object' ? [] : row);
  return { ...counts, values, ...readDurations({ maxNs, buckets }) };
}

/** `row`: the cells of a call. */
export function decode(row: Iterable<number>): MinuteReading {
  const [ok = 0, clientErrors = 0, errors = 0, late = 0, maxNs = 0, ...buckets] = row;
  return { ok, clientErrors, errors, late, maxNs, buckets };
}

function readDurations({ maxNs, buckets }: Pick<MinuteReading, 'maxNs' | 'buckets'>) {
  const heat = HEAT_BUCKETS.map(() => 0);
  heat.push(0);
  const sparse = SparseBuckets.of(buckets);
  let count = 0;
  sparse.forEachBucket((bucket, times) => {
    const row = HEAT_BUCKETS.findIndex((bound) => bucket <= bound);
    const place = row < 0 ? HEAT_BUCKETS.length : row;
    heat[place] = (heat[place] ?? 0) + times;
    count += times;
  });
  if (count === 0) return { p50: null, p95: null, max: null, heat: [] };
  const [p50 = null, p95 = null] = percentilesOf(mergedBuckets([sparse]), count, maxNs, [500, 950]);
  return { p50, p95, max: maxNs / NS_PER_S, heat };
}

/** Percentiles of `count` durations, in seconds. `permilles` ascend. `perOctave`: of the buckets. */
export function percentilesOf(
  bucketAtRank: (rank: number) => number,
  count: number,
  maxNs: number,
  permilles: readonly number[],
  perOctave = FINE_PER_OCTAVE,
): number[] {
  const max = maxNs / NS_PER_S;
  return permilles.map((permille) => {
    const rank = Math.ceil((permille * count) / 1_000);
    return rank === count ? max : Math.min(max, middleOf(bucketAtRank(rank), perOctave) / US_PER_S);
  });
}

function bytesOf({ kinds }: Minute): number {
  let bytes = 0;
  for (const { names, cells } of Object.values(kinds)) {
    bytes += cells.length * BYTES_PER_CELL + names.length * BYTES_PER_NAME;
  }
  return bytes;
}
