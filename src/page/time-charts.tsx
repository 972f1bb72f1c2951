/** All charts on one time axis, and the choice of its range. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Chart } from './chart.tsx';
import { type CallKind, type Charted, selectCharts } from './chart-specs.ts';
import { formatTime } from './format.ts';
import { type Period, within } from './history-points.ts';
import type { HistoryPoint, LiveApplication, Mark } from './live-data.ts';
import type { Plot } from './plot.ts';

export interface TimeChartsProps {
  readonly application: LiveApplication;
  readonly points: readonly HistoryPoint[];
  readonly minute: Period;
  readonly marks: readonly Mark[];
  readonly nowMs: number;
  readonly rangeS: number;
  readonly charted: Charted;
  readonly onRange: (seconds: number) => void;
}

const RANGES: readonly { readonly seconds: number; readonly name: string }[] = [
  { seconds: 300, name: '5 min' },
  { seconds: 900, name: '15 min' },
  { seconds: 3_600, name: '1 h' },
];

const DARK = '(prefers-color-scheme: dark)';

export function TimeCharts(props: TimeChartsProps) {
  const { application, points, minute, marks, nowMs, rangeS, charted, onRange } = props;
  const { stepSeconds } = application.history;
  const [kind, setKind] = useState<CallKind>('rpc');
  const scheme = useScheme();
  const specs = useMemo(() => selectCharts(kind, charted), [kind, ...Object.values(charted)]);
  // The newest step, not the current second: the axis moves only when it has a new point.
  const toS = points.at(-1)?.t ?? Math.floor(nowMs / 1000);
  const data = useMemo(
    () => ({ points: within(points, toS, rangeS + stepSeconds), marks, fromS: toS - rangeS, toS }),
    [points, marks, rangeS, toS, stepSeconds],
  );
  const cursor = useCursor(data.points);
  return (
    <section class="panel charts" aria-labelledby="charts-heading">
      <header class="panel-head">
        <h2 id="charts-heading">Over time</h2>
        <output class="moment">{cursor.point === undefined ? '' : formatTime(cursor.point.t * 1000, nowMs)}</output>
        <Choice
          name="Durations of"
          value={kind}
          choices={[
            { value: 'rpc', name: 'RPC' },
            { value: 'sba', name: 'SBA' },
          ]}
          onChoose={setKind}
        />
        <Choice
          name="Time range"
          value={rangeS}
          choices={RANGES.map(({ seconds, name }) => ({ value: seconds, name }))}
          onChoose={onRange}
        />
      </header>
      <div
        class="stack"
        role="slider"
        tabIndex={0}
        aria-label="Moment on the time axis"
        aria-valuemin={data.fromS}
        aria-valuemax={data.toS}
        aria-valuenow={cursor.point?.t ?? data.toS}
        aria-valuetext={describeMoment(cursor.point, specs, nowMs)}
        onKeyDown={cursor.onKeyDown}
      />
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the pointer leaves; what it does is there by keys as well, on the slider */}
      <div class="stack-charts" onMouseLeave={cursor.leave}>
        {specs.map((spec, at) => (
          <Chart
            key={spec.id}
            spec={spec}
            data={data}
            minute={minute}
            moment={cursor.point}
            hasMarkNames={at === 0}
            scheme={scheme}
            onMoment={cursor.onMoment}
            onPlot={at === 0 ? cursor.onPlot : undefined}
          />
        ))}
      </div>
    </section>
  );
}

/** The moment that all charts show, set by mouse or keys. */
function useCursor(points: readonly HistoryPoint[]) {
  const [t, setT] = useState<number | undefined>(undefined);
  const plot = useRef<Plot>(undefined);
  const onMoment = useCallback((moment: number | undefined) => setT(moment), []);
  const onPlot = useCallback((created: Plot | undefined) => {
    plot.current = created;
  }, []);
  const leave = useCallback(() => plot.current?.point(undefined), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const known = points.findIndex((point) => point.t === t);
    const from = known === -1 ? points.length : known;
    const next = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: points.length - 1 }[event.key];
    if (event.key === 'Escape') leave();
    if (next === undefined) return;
    event.preventDefault();
    const point = points[Math.max(0, Math.min(points.length - 1, next))];
    if (point !== undefined) plot.current?.point(point.t);
  };
  const point = t === undefined ? undefined : points.find((one) => one.t === t);
  return { point, onMoment, onPlot, onKeyDown, leave };
}

function describeMoment(
  point: HistoryPoint | undefined,
  specs: ReturnType<typeof selectCharts>,
  nowMs: number,
): string {
  if (point === undefined) return 'Now. Left and right arrow keys go from moment to moment.';
  const values = specs.map((spec) => {
    const lines = spec.lines.map((line) => {
      const value = line.value(point);
      return `${line.label} ${value === null ? 'none' : spec.format(value)}`;
    });
    return `${spec.title}: ${lines.join(', ')}`;
  });
  return `${formatTime(point.t * 1000, nowMs)}. ${values.join('. ')}.`;
}

interface ChoiceProps<Value> {
  readonly name: string;
  readonly value: Value;
  readonly choices: readonly { readonly value: Value; readonly name: string }[];
  readonly onChoose: (value: Value) => void;
}

function Choice<Value extends string | number>({ name, value, choices, onChoose }: ChoiceProps<Value>) {
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

function useScheme(): string {
  const [scheme, setScheme] = useState(() => (matchMedia(DARK).matches ? 'dark' : 'light'));
  useEffect(() => {
    const list = matchMedia(DARK);
    const changed = () => setScheme(list.matches ? 'dark' : 'light');
    list.addEventListener('change', changed);
    return () => list.removeEventListener('change', changed);
  }, []);
  return scheme;
}
