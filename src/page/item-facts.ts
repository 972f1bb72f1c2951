/** Reads Dropwizard's JSON for the views of one call, object or session. */
import type { DefinitionKey } from '../base/definitions.ts';
import { formatCount, formatDuration, formatRate } from '../base/figures.ts';
import type { Figure } from './figure-list.tsx';
import { describeConnection, formatFailed, formatTime } from './format.ts';
import type { CallRow, ItemDetails, ItemMinute, MetricsDocument, SessionRow } from './live-data.ts';

const MS_PER_S = 1_000;

export type Timer = Readonly<Record<string, number | string>>;

/** Labels by the fields of a timer. */
const DURATIONS = { min: 'least', p50: 'p50', mean: 'mean', p95: 'p95', p99: 'p99', p999: 'p99.9', max: 'most' };
const RATES = {
  m1_rate: 'Rate /s, 1 min',
  m5_rate: 'Rate /s, 5 min',
  m15_rate: 'Rate /s, 15 min',
  mean_rate: 'Rate /s, mean',
};

/** A duration of a timer in seconds, whatever `metrics.durationUnit` is; null for an empty window. */
export function secondsOf(timer: Timer, field: string): number | null {
  const value = Number(timer[field] ?? 0);
  // In an empty window all durations are 0; a real call takes longer than 0.
  if (!Number.isFinite(value) || Number(timer.max ?? 0) === 0) return null;
  return timer.duration_units === 'milliseconds' ? value / 1_000 : value;
}

/** `name` includes its kind, e.g. `rpc.E.Boiler.ReadState`. */
export function selectCallFacts(
  name: string,
  row: CallRow | undefined,
  document: MetricsDocument,
  { details, nowMs }: { readonly details: ItemDetails | undefined; readonly nowMs: number },
): readonly Figure[] {
  const timer = document.timers[name] ?? {};
  const errors = Number(document.meters[`${name}.errors`]?.count ?? 0);
  const shownErrors = row === undefined ? formatCount(errors) : formatFailed(errors, row.ended);
  return [
    { def: 'call.count', label: 'Calls', value: formatCount(Number(timer.count ?? 0)) },
    { def: 'call.errors', label: 'Errors', value: shownErrors, isBad: errors > 0 },
    ...selectErrorTime(details?.minutes ?? [], nowMs),
    ...(details?.statuses ?? []).map(({ status, count }) =>
      // Other keys are words, e.g. `no answer`.
      toFigure('call.status', /^\d/.test(status) ? `Status ${status}` : status, formatCount(count)),
    ),
    ...Object.entries(RATES).map(([field, label]) =>
      toFigure('timer.m1', label, formatRate(Number(timer[field] ?? 0))),
    ),
    ...Object.entries(DURATIONS).map(([field, label]) =>
      toFigure('timer.window', label, formatDuration(secondsOf(timer, field))),
    ),
  ];
}

export function selectObjectFacts(name: string, { counters, meters }: MetricsDocument): readonly Figure[] {
  const values = meters[`object.${name}.newValues`] ?? {};
  const subscriptions = counters[`object.${name}.subscriptions`]?.count ?? 0;
  return [
    toFigure('object.subscriptions', 'Subscriptions', formatCount(subscriptions)),
    toFigure('object.values', 'Values', formatCount(Number(values.count ?? 0))),
    ...[1, 5, 15].map((minutes) =>
      toFigure('object.rate', `Values /s, ${minutes} min`, formatRate(Number(values[`m${minutes}_rate`] ?? 0))),
    ),
  ];
}

export function selectSessionFacts(row: SessionRow | undefined, nowMs: number): readonly Figure[] {
  if (row === undefined) return [];
  const { connectionType, remoteAddress, requests, errors } = row;
  const time = (iso: string) => formatTime(Date.parse(iso), nowMs);
  return [
    toFigure('session.connection', 'Connection', describeConnection(connectionType)),
    toFigure('session.since', 'Since', time(row.createTime)),
    toFigure('session.active', 'Last activity', time(row.lastActivityTime)),
    toFigure('session.address', 'Address', remoteAddress),
    toFigure('session.requests', 'Requests', formatCount(requests)),
    { def: 'session.errors', label: 'Errors', value: formatFailed(errors, requests), isBad: errors > 0 },
  ];
}

function toFigure(def: DefinitionKey, label: string, value: string): Figure {
  return { def, label, value };
}

/** Since when a call fails: from the first minute of the hour after which every minute with calls has errors. Or when it last did. */
function selectErrorTime(minutes: readonly ItemMinute[], nowMs: number): readonly Figure[] {
  const called = minutes.filter(({ ok, clientErrors, errors }) => ok + clientErrors + errors > 0);
  const last = called.findLast(({ errors }) => errors > 0);
  if (last === undefined) return [];
  const first = called[called.findLastIndex(({ errors }) => errors === 0) + 1];
  const { t, seconds } = first ?? last;
  const label = first === undefined ? 'Last error' : 'Errors since';
  const value = formatTime((t - seconds) * MS_PER_S, nowMs);
  return [{ def: 'call.failing', label, value, isBad: first !== undefined }];
}

/** The calls of one session, and the objects that it monitors or reads; without totals, which have no name. */
export function rowsOfSession({ counters, meters, timers }: MetricsDocument) {
  const calls = Object.entries(timers).flatMap(([metric, timer]) => {
    const [, kind, name] = /^(rpc|sba)\.(.*)$/s.exec(metric) ?? [];
    if (kind === undefined || name === undefined) return [];
    const errors = Number(meters[`${metric}.errors`]?.count ?? 0);
    const times = { p50: secondsOf(timer, 'p50'), p99: secondsOf(timer, 'p99') };
    return [{ name, kind: kind.toUpperCase(), count: Number(timer.count ?? 0), ...times, errors }];
  });
  const names = [...Object.keys(counters), ...Object.keys(meters)].flatMap(
    (metric) => /^object\.(.*)\.(?:subscriptions|newValues)$/s.exec(metric)?.[1] ?? [],
  );
  const objects = [...new Set(names)].map((name) => ({
    name,
    subscriptions: counters[`object.${name}.subscriptions`]?.count ?? 0,
    values: Number(meters[`object.${name}.newValues`]?.count ?? 0),
  }));
  return { calls, objects };
}

export type SessionRows = ReturnType<typeof rowsOfSession>;
