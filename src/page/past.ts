/** What the charts show of the history on disk, from the address to the points. Pure: no requests, no clock. */
import type { CallKind } from './chart-specs.ts';
import { greatest } from './history-points.ts';
import type { Mark, StepCalls, TableKind } from './live-data.ts';
import type { Timed } from './plot.ts';

/** Times are in seconds. Kept in the address, so that a link shows the same. */
export interface PastView {
  readonly rangeS: number;
  /** End of the range, since 1970; undefined: now. */
  readonly toS: number | undefined;
  /** Compared with as much earlier; undefined: with nothing. */
  readonly shiftS: number | undefined;
  /** What became slower since then is listed. */
  readonly sinceS: number | undefined;
  readonly kind: CallKind;
}

export const HOUR_S = 3_600;
export const DAY_S = 24 * HOUR_S;

/** What the history begins with: a mark of the last hour is in it. */
export const NOTHING_CHOSEN: PastView = {
  ...{ rangeS: 6 * HOUR_S, toS: undefined, shiftS: undefined, sinceS: undefined },
  kind: 'rpc',
};

/** Durations are in seconds; null without an answered call. */
export interface PastCalls extends Pick<StepCalls, 'count' | 'errors' | 'p50' | 'p95'> {
  readonly max: number | null;
}

export interface PastValues {
  readonly calls?: PastCalls | undefined;
  readonly sessions?: number | undefined;
}

/** A step, which begins at `t`; nothing is known where nothing was measured. */
export interface PastPoint extends Timed {
  /** Length of the step in seconds. */
  readonly step: number;
  /** The seconds of it that have passed, in whole minutes. */
  readonly seconds: number;
  readonly now: PastValues;
  /** `shiftS` earlier. */
  readonly before: PastValues;
}

/** A row of `history/names` and `history/slower`. */
export type NameRow = { readonly name: string } & NameCalls & {
    readonly [Key in keyof NameCalls as `${Key}Before`]: NameCalls[Key];
  };

type NameCalls = Omit<PastCalls, 'max'>;

export interface SlowerNames {
  readonly from: string;
  readonly to: string;
  readonly periods: number;
  readonly rows: readonly NameRow[];
}

/** What is open on the page. */
interface Opened {
  readonly table: TableKind;
  readonly item: string | undefined;
  readonly view: { readonly past: PastView | undefined };
}

/** What is requested. It is requested again when `key` has changed. */
export interface PastQuery extends Pick<PastView, 'shiftS' | 'sinceS'> {
  readonly key: string;
  readonly application: string;
  /** As in the metrics. */
  readonly name: string;
  readonly isSingle: boolean;
  readonly fromS: number;
  readonly toS: number;
}

export interface PastState {
  readonly query: PastQuery;
  readonly isReading: boolean;
  /** The numbers are still those of another choice. */
  readonly isOther: boolean;
  /** Why the history cannot be read. */
  readonly failure: string | undefined;
  readonly points: readonly PastPoint[];
  readonly marks: readonly Mark[];
  /** Names with calls; none in the view of one name. */
  readonly names: readonly NameRow[];
  readonly slower: SlowerNames | undefined;
}

const MIN_RANGE_S = 600;
const MAX_RANGE_S = 3_650 * DAY_S;
const MINUTE_S = 60;
/** As the port compares names. */
export const MAX_NAMES_S = 7 * DAY_S;

export function parsePast(query: URLSearchParams): PastView | undefined {
  const number = (key: string) => {
    const value = Number(query.get(key) ?? Number.NaN);
    return Number.isFinite(value) && value > 0 ? value : undefined;
  };
  const rangeS = number('past');
  if (rangeS === undefined) return undefined;
  return {
    rangeS: Math.min(Math.max(rangeS, MIN_RANGE_S), MAX_RANGE_S),
    ...{ toS: number('to'), shiftS: number('shift'), sinceS: number('since') },
    kind: query.get('of') === 'sba' ? 'sba' : 'rpc',
  };
}

export function formatPast({ rangeS, toS, shiftS, sinceS, kind }: PastView): Record<string, string> {
  return {
    past: String(rangeS),
    ...(toS === undefined ? {} : { to: String(toS) }),
    ...(shiftS === undefined ? {} : { shift: String(shiftS) }),
    ...(sinceS === undefined ? {} : { since: String(sinceS) }),
    ...(kind === 'sba' ? { of: kind } : {}),
  };
}

/** A range that the reader has chosen in a chart, in whole minutes; `nowS` bounds it. */
export function zoomTo(past: PastView, fromS: number, toS: number, nowS: number): PastView {
  const rangeS = Math.min(Math.max(MIN_RANGE_S, Math.ceil((toS - fromS) / MINUTE_S) * MINUTE_S), MAX_RANGE_S);
  const end = Math.ceil(toS / MINUTE_S) * MINUTE_S;
  return { ...past, rangeS, toS: end >= nowS ? undefined : end };
}

/** Undefined while the charts show the last hour. A range to now is requested again each minute. */
export function selectQuery({ table, item, view }: Opened, application: string, nowS: number): PastQuery | undefined {
  const { past } = view;
  if (past === undefined) return undefined;
  const toS = past.toS ?? Math.floor(nowS / MINUTE_S) * MINUTE_S;
  const isSingle = item !== undefined && (table === 'rpc' || table === 'sba');
  const name = isSingle ? `${table}.${item}` : past.kind;
  const { shiftS, sinceS } = past;
  const query = { application, name, isSingle, fromS: toS - past.rangeS, toS, shiftS, sinceS };
  return { ...query, key: JSON.stringify(query) };
}

/** An answer of `history`: the beginning of each step in ISO 8601, and its numbers. */
export interface Steps {
  readonly step: number;
  readonly rows: readonly (readonly [string, number, number, ...(number | null)[]])[];
}

/** By epoch seconds. */
function readValues({ calls, sessions }: StepsOf, shiftS: number): ReadonlyMap<number, PastValues> {
  const timeOf = (time: string) => Date.parse(time) / 1000 + shiftS;
  const values = new Map<number, PastValues>();
  for (const [time, count, errors, p50 = null, p95 = null, , max = null] of calls.rows)
    values.set(timeOf(time), { calls: { count, errors, p50, p95, max } });
  for (const [time, count] of sessions?.rows ?? [])
    values.set(timeOf(time), { ...values.get(timeOf(time)), sessions: count });
  return values;
}

interface StepsOf {
  readonly calls: Steps;
  readonly sessions: Steps | undefined;
}

/** One point for each step of the range until `nowS`, also where nothing was measured, so that lines have gaps there. */
export function joinSteps(
  { fromS, toS, shiftS = 0 }: Pick<PastQuery, 'fromS' | 'toS' | 'shiftS'>,
  now: StepsOf,
  before: StepsOf | undefined,
  nowS: number,
): readonly PastPoint[] {
  const { step } = now.calls;
  const [values, valuesBefore] = [readValues(now, 0), before && readValues(before, shiftS)];
  const points: PastPoint[] = [];
  for (let t = Math.ceil(fromS / step) * step; t < toS; t += step) {
    const seconds = Math.min(step, Math.max(1, Math.floor((nowS - t) / MINUTE_S)) * MINUTE_S);
    points.push({ t, step, seconds, now: values.get(t) ?? {}, before: valuesBefore?.get(t) ?? {} });
  }
  return points;
}

/** A duration as a multiple of the one before; null where one of them is unknown. */
export function ratioOf(now: number | null, before: number | null): number | null {
  return now === null || before === null || before === 0 ? null : now / before;
}

export function factorOf({ p50, p95, p50Before, p95Before }: NameRow): number | null {
  return greatest([ratioOf(p50, p50Before), ratioOf(p95, p95Before)]);
}
