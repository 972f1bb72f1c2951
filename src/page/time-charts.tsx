/** All charts on one time axis, and the choice of its range. */
import { useMemo, useState } from 'preact/hooks';
import { type CallKind, selectCharts } from './chart-specs.ts';
import { ChartStack, useCursor } from './chart-stack.tsx';
import { formatTime } from './format.ts';
import { DEFAULT_RANGE_S, type Shown } from './page-state.ts';
import { Choice, KINDS, RangeChoice } from './range-choice.tsx';

export function TimeCharts({ state, live, application, points, minute, nowMs, onView }: Shown) {
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
