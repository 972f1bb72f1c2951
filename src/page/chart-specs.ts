/** The charts on the shared time axis, and their lines. */

import type { DefinitionKey } from '../base/definitions.ts';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRate } from '../base/figures.ts';
import { errorShareOf, errorsOf, type Period, perSecond } from './history-points.ts';
import type { Live } from './live-data.ts';

/** `Point`: what its values are read from. */
export interface Line<Point = Period> {
  readonly label: string;
  /** Suffix of a colour of page.css, e.g. `a` for `--series-a`. */
  readonly colour: string;
  readonly dash?: readonly number[];
  readonly isFilled?: boolean;
  readonly width?: number;
  /** Drawn on top of the line before it: the areas add up. */
  readonly isStacked?: boolean;
  /** Of a step, or of the last minute as in the figures. */
  value(point: Point): number | null;
}

export interface ChartSpec<Point = Period> {
  readonly title: string;
  readonly def: DefinitionKey;
  readonly isBars?: boolean;
  /** A value without neighbours, which no line connects, is drawn as a dot. */
  readonly hasSinglePoints?: boolean;
  readonly lines: readonly Line<Point>[];
  /** An extra entry of the legend, e.g. `all 71`: the number of the figure of the same name. */
  readonly extra?: { readonly label: string; text(minute: Point): string };
  /** The numbers of `minute` are current: the legend says `now` instead of `last minute`. */
  readonly isNow?: boolean;
  format(value: number): string;
  /** Steps of the axis, if the default ones (1, 2, 2.5, 5) give no round numbers. */
  readonly axisSteps?: readonly number[];
  /** Minimum of the axis' upper end, so that noise does not fill a calm chart. */
  readonly minTop: number;
}

export type CallKind = 'rpc' | 'sba';

const MIB = 1024 * 1024;
/** How numbers of a kind are shown; a calm chart has at least this height. */
export const SECONDS = { minTop: 0.001, format: formatDuration };
export const COUNTS = { minTop: 4, format: formatCount };
export const RATES = { minTop: 1, format: formatRate };
/** Axis steps for counts, which are whole numbers. */
const WHOLE_STEPS = Array.from({ length: 7 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

export function selectCharts(kind: CallKind, { jvm, server }: Pick<Live, 'jvm' | 'server'>): readonly ChartSpec[] {
  const traffic = [RATE, createDurationChart(kind), TIMES, ERRORS];
  if (jvm.state === 'none') return traffic;
  const threadsMax = server['threads.max'];
  return [
    ...traffic,
    ...(threadsMax === undefined ? [] : [withMaximum(THREADS, threadsMax)]),
    ...(server['process.cpu'] === undefined ? [] : [withMaximum(PROCESSORS, server.processors)]),
    withMaximum(HEAP, jvm.heapMax),
    PAUSES,
  ];
}

function withMaximum(spec: ChartSpec, maximum: number | null | undefined): ChartSpec {
  return maximum === null || maximum === undefined
    ? spec
    : { ...spec, extra: { label: 'maximum', text: () => spec.format(maximum) } };
}

const RATE: ChartSpec = {
  title: 'Calls a second',
  def: 'chart.rate',
  ...RATES,
  lines: [
    { label: 'RPC', colour: 'a', isFilled: true, value: (period) => perSecond(period.rpc.count, period) },
    { label: 'SBA', colour: 'b', dash: [5, 3], value: (period) => perSecond(period.sba.count, period) },
  ],
  extra: { label: 'all', text: (minute) => formatRate(perSecond(minute.rpc.count + minute.sba.count, minute)) },
};

function createDurationChart(kind: CallKind): ChartSpec {
  return {
    title: `Duration of ${kind.toUpperCase()} calls`,
    def: 'chart.duration',
    ...SECONDS,
    lines: [
      { label: 'p50', colour: 'a', value: (period) => period[kind].p50 },
      { label: 'p95', colour: 'b', dash: [5, 3], value: (period) => period[kind].p95 },
      { label: 'p99', colour: 'c', value: (period) => period[kind].p99 },
    ],
  };
}

/** The mean, since only sums are kept of both; null without a call. */
function perCall(seconds: number, { times }: Period): number | null {
  return times.ended === 0 ? null : seconds / times.ended;
}

const TIMES: ChartSpec = {
  title: 'Time of a call',
  def: 'chart.times',
  ...SECONDS,
  lines: [
    { label: 'server', colour: 'a', isFilled: true, value: (period) => perCall(period.times.durationS, period) },
    {
      ...{ label: 'client wait', colour: 'c', isFilled: true, isStacked: true },
      value: (period) => perCall(period.times.clientWaitS, period),
    },
  ],
};

const ERRORS: ChartSpec = {
  title: 'Errors',
  def: 'chart.errors',
  ...COUNTS,
  axisSteps: WHOLE_STEPS,
  lines: [
    { label: 'RPC', colour: 'c', isFilled: true, value: ({ rpc }) => rpc.errors },
    { label: 'SBA', colour: 'd', dash: [5, 3], value: ({ sba }) => sba.errors },
    { label: 'client left', colour: 'e', dash: [2, 2], value: ({ aborted }) => aborted },
  ],
  // Not `all`: the share in the verdict is of calls of all kinds.
  extra: {
    label: 'RPC and SBA',
    text(minute) {
      const errors = errorsOf(minute);
      return `${formatCount(errors)}${errors === 0 ? '' : ` (${formatPercent(errorShareOf(minute))})`}`;
    },
  },
};

const HEAP: ChartSpec = {
  title: 'Java heap',
  def: 'chart.heap',
  minTop: 16 * MIB,
  axisSteps: Array.from({ length: 24 }, (_, power) => MIB * 2 ** power),
  format: formatBytes,
  lines: [
    { label: 'used', colour: 'a', isFilled: true, value: ({ heapUsed }) => heapUsed },
    { label: 'after collection', colour: 'b', width: 2, value: ({ heapAfterGc }) => heapAfterGc },
  ],
  isNow: true,
};

const THREADS: ChartSpec = {
  title: 'Request threads',
  def: 'chart.threads',
  ...COUNTS,
  axisSteps: WHOLE_STEPS,
  lines: [{ label: 'busy', colour: 'a', isFilled: true, value: ({ busyThreads }) => busyThreads }],
  isNow: true,
};

const PROCESSORS: ChartSpec = {
  title: 'Processors of the server',
  def: 'chart.processors',
  ...RATES,
  lines: [{ label: 'in use', colour: 'b', isFilled: true, value: ({ cores }) => cores }],
  isNow: true,
};

const PAUSES: ChartSpec = {
  title: 'Collector pauses',
  def: 'chart.pauses',
  isBars: true,
  minTop: 10,
  format: (value) => `${formatRate(value)} ms/s`,
  lines: [
    {
      label: 'of each second',
      colour: 'd',
      isFilled: true,
      value: (period) => (period.gcPauseMs === null ? null : perSecond(period.gcPauseMs, period)),
    },
  ],
};

/** The height of a line: its value, on top of the line before it if it is stacked. */
export function heightOf<Point>(spec: Pick<ChartSpec<Point>, 'lines'>, at: number, point: Point): number | null {
  const line = spec.lines[at];
  const value = line?.value(point) ?? null;
  if (value === null || line?.isStacked !== true) return value;
  return value + (heightOf(spec, at - 1, point) ?? 0);
}

/** The chart in one sentence for screen readers, e.g. `RPC: last 12.3, between 10 and 14; SBA: no values.` */
export function describeChart<Point>(spec: ChartSpec<Point>, points: readonly Point[]): string {
  const parts = spec.lines.map((line) => {
    const values = points.flatMap((point) => line.value(point) ?? []);
    if (values.length === 0) return `${line.label}: no values`;
    const [least, most] = [Math.min(...values), Math.max(...values)];
    const now = spec.format(values.at(-1) ?? 0);
    return `${line.label}: last ${now}, between ${spec.format(least)} and ${spec.format(most)}`;
  });
  return `${parts.join('; ')}.`;
}
