/** Charts on one time axis, with one cursor for mouse and keys. */
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { Chart } from './chart.tsx';
import type { ChartSpec } from './chart-specs.ts';
import { formatTime } from './format.ts';
import type { PlotData, Pointer, Timed } from './plot.ts';

export interface ChartStackProps<Point> {
  readonly specs: readonly ChartSpec<Point>[];
  readonly data: PlotData<Point>;
  readonly minute: Point;
  readonly cursor: ReturnType<typeof useCursor<Point & Timed>>;
  readonly nowMs: number;
  readonly onZoom?: ((fromS: number, toS: number) => void) | undefined;
  readonly legendOf?: string | undefined;
  /** More on the same axis. */
  readonly children?: ComponentChildren;
}

export function ChartStack<Point>(props: ChartStackProps<Point>) {
  const { specs, data, minute, cursor, nowMs, onZoom, legendOf, children } = props;
  return (
    <>
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
            onMoment={cursor.onMoment}
            onZoom={onZoom}
            legendOf={legendOf}
            pointer={at === 0 ? cursor.pointer : undefined}
          />
        ))}
        {children}
      </div>
    </>
  );
}

/** The moment that all charts of a stack show, set by mouse or keys. */
export function useCursor<Point extends Timed>(points: readonly Point[]) {
  const [t, setT] = useState<number | undefined>(undefined);
  const pointer = useRef<Pointer>(undefined);
  const leave = () => pointer.current?.point(undefined);
  const onKeyDown = (event: KeyboardEvent) => {
    const known = points.findIndex((point) => point.t === t);
    const from = known === -1 ? points.length : known;
    const next = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: points.length - 1 }[event.key];
    if (event.key === 'Escape') leave();
    if (next === undefined) return;
    event.preventDefault();
    const point = points[Math.max(0, Math.min(points.length - 1, next))];
    if (point !== undefined) pointer.current?.point(point.t);
  };
  const point = t === undefined ? undefined : points.find((one) => one.t === t);
  return { point, onMoment: setT, pointer, onKeyDown, leave };
}

function describeMoment<Point>(
  point: (Point & Timed) | undefined,
  specs: readonly ChartSpec<Point>[],
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
