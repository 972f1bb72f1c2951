/** Charts on one time axis, with one cursor for mouse and keys. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ChartSpec, describeChart } from './chart-specs.ts';
import { Term } from './explanations.tsx';
import { formatTime } from './format.ts';
import { Plot, type PlotData, type PlotOptions, type Pointer, type Timed } from './plot.ts';

interface ChartStackProps<Point> extends Pick<PlotOptions<Point>, 'onZoom'> {
  readonly specs: readonly ChartSpec<Point>[];
  readonly data: PlotData<Point>;
  /** The numbers of the legends while the cursor is on no point. */
  readonly minute: Point;
  readonly cursor: ReturnType<typeof useCursor<Point & Timed>>;
  readonly nowMs: number;
  /** What the numbers of the legends are of, if not of the last minute. */
  readonly legendOf?: string;
  /** More on the same axis. */
  readonly children?: ComponentChildren;
}

export function ChartStack<Point>({ specs, children, nowMs, ...chart }: ChartStackProps<Point>) {
  const { data, cursor } = chart;
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
          <Chart key={spec.def} spec={spec} isTop={at === 0} {...chart} />
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

const DARK = '(prefers-color-scheme: dark)';
const HEIGHT_PX = 124;
const NAMES_PX = 10;

interface ChartProps<Point> extends Omit<ChartStackProps<Point>, 'specs' | 'nowMs' | 'children'> {
  readonly spec: ChartSpec<Point>;
  /** It has the names of the marks, and its plot moves the cursor of all. */
  readonly isTop: boolean;
}

/** A chart with a summary for screen readers and a legend. */
function Chart<Point>({ spec, isTop, data, cursor, onZoom, ...legend }: ChartProps<Point>) {
  const { onMoment, pointer } = cursor;
  const scheme = useScheme();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot<Point>>(undefined);
  const latest = useRef(data);
  latest.current = data;
  // Depends on `scheme`: the plot reads the colours of the page when it is created.
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const height = HEIGHT_PX + (isTop ? NAMES_PX : 0);
    const size = { width: Math.max(element.clientWidth, 120), height };
    const options = { spec, ...size, hasMarkNames: isTop, onMoment, onZoom };
    const created = new Plot<Point>(element, options, latest.current);
    plot.current = created;
    if (isTop) pointer.current = created;
    const observer = new ResizeObserver(() => created.resize(Math.max(element.clientWidth, 120), height));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current = undefined;
      created.destroy();
    };
  }, [spec, scheme, isTop, onMoment, onZoom, pointer]);
  useEffect(() => plot.current?.update(data), [data]);
  const id = `chart-${spec.def.replace('.', '-')}`;
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <h3 id={id}>
          <Term def={spec.def}>{spec.title}</Term>
        </h3>
        <Legend {...legend} spec={spec} moment={cursor.point} />
        <p class="hidden">{describeChart(spec, data.points)}</p>
      </figcaption>
      <div class="plot" ref={box} aria-hidden="true" />
    </figure>
  );
}

interface LegendProps<Point> extends Pick<ChartProps<Point>, 'spec' | 'minute' | 'legendOf'> {
  readonly moment: Point | undefined;
}

/** Values of the point under the cursor; without one those of the last minute, as in the figures. */
function Legend<Point>({ spec, moment: point, minute, legendOf }: LegendProps<Point>) {
  const { extra, isNow = false } = spec;
  return (
    <ul class="legend">
      {point === undefined && <li class="window">{legendOf ?? (isNow ? 'now' : 'last minute')}</li>}
      {point === undefined && extra !== undefined && (
        <li data-def={spec.def}>
          {extra.label} <b>{extra.text(minute)}</b>
        </li>
      )}
      {spec.lines.map(({ label, colour, dash, value }) => {
        const shown = value(point ?? minute);
        return (
          <li key={label} data-def={spec.def}>
            <svg class="swatch" width="18" height="4" aria-hidden="true" style={{ stroke: `var(--series-${colour})` }}>
              <line x1="0" y1="2" x2="18" y2="2" stroke-width="3" stroke-dasharray={dash?.join(' ')} />
            </svg>
            {` ${label} `}
            <b>{shown === null ? '–' : spec.format(shown)}</b>
          </li>
        );
      })}
    </ul>
  );
}

/** Changes when the colours of the page change, so that canvases are drawn again. */
export function useScheme(): string {
  const [scheme, setScheme] = useState(() => (matchMedia(DARK).matches ? 'dark' : 'light'));
  useEffect(() => {
    const list = matchMedia(DARK);
    const changed = () => setScheme(list.matches ? 'dark' : 'light');
    list.addEventListener('change', changed);
    return () => list.removeEventListener('change', changed);
  }, []);
  return scheme;
}
