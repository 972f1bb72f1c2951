/** Reads Dropwizard's JSON for the views of one call, object or session. */

import type { DefinitionKey } from '../base/definitions.ts';
import { formatDuration, formatRate } from '../base/figures.ts';
import type { Figure } from './figure-list.tsx';
import { formatTime } from './format.ts';
import type { ItemMinute, MetricsDocument } from './live-data.ts';

const MS_PER_S = 1_000;

export type Timer = Readonly<Record<string, number | string>>;

export interface SessionCall {
  readonly name: string;
  readonly kind: 'RPC' | 'SBA';
  readonly count: number;
  /** Seconds. */
  readonly p50: number | null;
  readonly p99: number | null;
  readonly errors: number;
}

export interface SessionObject {
  readonly name: string;
  readonly subscriptions: number;
  readonly values: number;
}

/** Labels by the fields of a timer. */
const DURATIONS = { min: 'least', p50: 'p50', mean: 'mean', p95: 'p95', p99: 'p99', p999: 'p99.9', max: 'most' };
const RATES = {
  m1_rate: 'Rate /s, 1 min',
  m5_rate: 'Rate /s, 5 min',
  m15_rate: 'Rate /s, 15 min',
  mean_rate: 'Rate /s, mean',
};

const KINDS = { rpc: 'RPC', sba: 'SBA' } as const;
const SUBSCRIPTIONS = '.subscriptions';
const VALUES = '.newValues';

/** A duration of a timer in seconds, whatever `metrics.durationUnit` is; null for an empty window. */
export function secondsOf(timer: Timer, field: string): number | null {
  const value = Number(timer[field] ?? 0);
  // In an empty window all durations are 0; a real call takes longer than 0.
  if (!Number.isFinite(value) || Number(timer.max ?? 0) === 0) return null;
  return timer.duration_units === 'milliseconds' ? value / 1_000 : value;
}

export function selectTimerFacts(timer: Timer, def: DefinitionKey): readonly Figure[] {
  return [
    ...Object.entries(RATES).map(
      ([field, label]): Figure => ({ def: 'timer.m1', label, value: formatRate(Number(timer[field] ?? 0)) }),
    ),
    ...Object.entries(DURATIONS).map(
      ([field, label]): Figure => ({ def, label, value: formatDuration(secondsOf(timer, field)) }),
    ),
  ];
}

/** Since when a call fails: from the first minute of the hour after which every minute with calls has errors. Or when it last did. */
export function selectErrorTime(minutes: readonly ItemMinute[], nowMs: number): Figure | undefined {
  const called = minutes.filter(({ ok, clientErrors, errors }) => ok + clientErrors + errors > 0);
  const last = called.findLast(({ errors }) => errors > 0);
  if (last === undefined) return undefined;
  const after = called.findLastIndex(({ errors }) => errors === 0);
  const first = called[after + 1];
  const { t, seconds } = first ?? last;
  const time = formatTime((t - seconds) * MS_PER_S, nowMs);
  return {
    def: 'call.failing',
    label: first === undefined ? 'Last error' : 'Errors since',
    value: time,
    isBad: first !== undefined,
  };
}

/** The calls of one session, and the objects that it monitors or reads. */
export function rowsOfSession(document: MetricsDocument): { calls: SessionCall[]; objects: SessionObject[] } {
  const calls = Object.entries(document.timers).flatMap(([metric, timer]) => {
    const { kind, name } = split(metric);
    if (name === undefined || (kind !== 'rpc' && kind !== 'sba')) return [];
    const errors = Number(document.meters[`${metric}.errors`]?.count ?? 0);
    const times = { p50: secondsOf(timer, 'p50'), p99: secondsOf(timer, 'p99') };
    return [{ name, kind: KINDS[kind], count: Number(timer.count ?? 0), ...times, errors }];
  });
  return { calls, objects: objectsOf(document) };
}

function objectsOf({ counters, meters }: MetricsDocument): SessionObject[] {
  const names = new Set<string>();
  for (const metric of [...Object.keys(counters), ...Object.keys(meters)]) {
    const name = parseObjectName(metric);
    if (name !== undefined) names.add(name);
  }
  return [...names].map((name) => ({
    name,
    subscriptions: counters[`object.${name}${SUBSCRIPTIONS}`]?.count ?? 0,
    values: Number(meters[`object.${name}${VALUES}`]?.count ?? 0),
  }));
}

/** `H.Boiler` from `object.H.Boiler.newValues`; undefined for totals and for other metrics. */
function parseObjectName(metric: string): string | undefined {
  const { kind, name = '' } = split(metric);
  const end = [SUBSCRIPTIONS, VALUES].find((postfix) => name.endsWith(postfix));
  return kind === 'object' && end !== undefined ? name.slice(0, -end.length) : undefined;
}

/** Splits at the first dot; a total has none. */
function split(metric: string): { readonly kind: string; readonly name?: string } {
  const dot = metric.indexOf('.');
  return dot === -1 ? { kind: metric } : { kind: metric.slice(0, dot), name: metric.slice(dot + 1) };
}
