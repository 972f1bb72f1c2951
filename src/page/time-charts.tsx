/** All charts on one time axis, and the choice of its range. */
import { useMemo, useState } from 'preact/hooks';
import { type CallKind, selectCharts } from './chart-specs.ts';
import { ChartStack, useCursor } from './chart-stack.tsx';
import { formatTime } from './format.ts';
import { DEFAULT_RANGE_S, type Shown } from './page-state.ts';
import { DAY_S, HOUR_S } from './past.ts';
import { PastCharts } from './past-charts.tsx';

export const KINDS: readonly Choosable<CallKind>[] = [
  { value: 'rpc', name: 'RPC' },
  { value: 'sba', name: 'SBA' },
];
/** In seconds. */
const RANGES: readonly Choosable<number>[] = [
  { value: 300, name: '5 min' },
  { value: 900, name: '15 min' },
  { value: 3_600, name: '1 h' },
];
/** Those of the history on disk. */
const PAST_RANGES: readonly Choosable<number>[] = [
  { value: 6 * HOUR_S, name: '6 h' },
  { value: DAY_S, name: '1 d' },
  { value: 7 * DAY_S, name: '7 d' },
  { value: 30 * DAY_S, name: '30 d' },
  { value: 90 * DAY_S, name: '90 d' },
];

/** The charts of the last hour, or those of the history on disk. */
export function Charts(props: Shown) {
  return props.state.route.view.past === undefined || props.live.archive === null ? (
    <TimeCharts {...props} />
  ) : (
    <PastCharts {...props} />
  );
}

/** `current`: seconds of the range that is shown. */
export function RangeChoice({ live, current, onView }: Pick<Shown, 'live' | 'onView'> & { current: number }) {
  const choose = (rangeS: number) => {
    const isPast = PAST_RANGES.some(({ value }) => value === rangeS);
    const past = { rangeS, toS: undefined, shiftS: undefined, sinceS: undefined, kind: 'rpc' } as const;
    onView(isPast ? { past } : { rangeS, past: undefined });
  };
  const choices = live.archive === null ? RANGES : [...RANGES, ...PAST_RANGES];
  return <Choice name="Time range" value={current} choices={choices} onChoose={choose} />;
}

function TimeCharts({ state, live, application, points, minute, nowMs, onView }: Shown) {
  const { marks, route } = state;
  const { rangeS = DEFAULT_RANGE_S } = route.view;
  const { stepSeconds } = application.history;
  const [kind, setKind] = useState<CallKind>('rpc');
  const { jvm, server } = live;
  const specs = useMemo(
    () => selectCharts(kind, live),
    [
      kind,
      jvm.state === 'none',
      jvm.heapMax,
      server['threads.max'],
      server['process.cpu'] === undefined,
      server.processors,
    ],
  );
  // The newest step, not the current second: the axis moves only when it has a new point.
  const toS = points.at(-1)?.t ?? Math.floor(nowMs / 1000);
  const fromS = toS - rangeS;
  const data = useMemo(() => {
    const visible = points.filter(({ t }) => t > fromS - stepSeconds);
    return { points: visible, marks, fromS, toS };
  }, [points, marks, fromS, toS, stepSeconds]);
  const cursor = useCursor(data.points);
  return (
    <section class="panel charts" aria-labelledby="charts-heading">
      <header class="panel-head">
        <h2 id="charts-heading">Over time</h2>
        <output class="moment">{cursor.point === undefined ? '' : formatTime(cursor.point.t * 1000, nowMs)}</output>
        <Choice name="Durations of" value={kind} choices={KINDS} onChoose={setKind} />
        <RangeChoice current={rangeS} {...{ live, onView }} />
      </header>
      <ChartStack {...{ specs, data, minute, cursor, nowMs }} />
    </section>
  );
}

export interface Choosable<Value> {
  readonly value: Value;
  readonly name: string;
}

interface ChoiceProps<Value> {
  readonly name: string;
  readonly value: Value;
  readonly choices: readonly Choosable<Value>[];
  readonly onChoose: (value: Value) => void;
}

export function Choice<Value extends string | number>({ name, value, choices, onChoose }: ChoiceProps<Value>) {
  return (
    <fieldset class="choice">
      <legend class="hidden">{name}</legend>
      {choices.map((choice) => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          onClick={() => onChoose(choice.value)}
        >
          {choice.name}
        </button>
      ))}
    </fieldset>
  );
}
