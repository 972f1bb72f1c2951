/** The last hour of one name: calls, errors and durations over time, and how many took how long. */
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { formatCount, formatDuration } from '../base/figures.ts';
import { type ChartSpec, COUNTS, SECONDS } from './chart-specs.ts';
import { ChartStack, useCursor, useScheme } from './chart-stack.tsx';
import { Term } from './explanations.tsx';
import { formatTime } from './format.ts';
import type { ItemDetails, ItemMinute, Mark } from './live-data.ts';
import { FONT, type PlotData, RIGHT_PX, withoutZeros, Y_AXIS_PX } from './plot.ts';

interface ItemChartsProps {
  readonly details: ItemDetails;
  readonly isObject: boolean;
  readonly marks: readonly Mark[];
  readonly nowMs: number;
}

const MIN_RANGE_S = 600;
const MINUTE_S = 60;
const ROW_PX = 7;
const LABEL_BOUNDS = [0.001, 0.01, 0.1, 1, 10];

const CALLS: ChartSpec<ItemMinute> = {
  title: 'Calls a minute',
  def: 'item.calls',
  isBars: true,
  ...COUNTS,
  lines: [
    {
      label: 'ended',
      colour: 'a',
      isFilled: true,
      value: ({ ok, clientErrors, errors }) => ok + clientErrors + errors,
    },
    { label: 'errors', colour: 'c', isFilled: true, value: ({ errors }) => errors },
    { label: 'too late', colour: 'd', dash: [5, 3], value: ({ late }) => late },
  ],
};

const DURATIONS: ChartSpec<ItemMinute> = {
  title: 'Duration',
  def: 'item.duration',
  ...SECONDS,
  lines: [
    { label: 'p50', colour: 'a', value: ({ p50 }) => p50 },
    { label: 'p95', colour: 'b', dash: [5, 3], value: ({ p95 }) => p95 },
    { label: 'most', colour: 'c', value: ({ max }) => max },
  ],
};

const VALUES: ChartSpec<ItemMinute> = {
  title: 'Values a minute',
  def: 'item.values',
  isBars: true,
  ...COUNTS,
  lines: [{ label: 'received', colour: 'a', isFilled: true, value: ({ values }) => values }],
};

const CALL_CHARTS = [CALLS, DURATIONS];
const OBJECT_CHARTS = [VALUES];

export function ItemCharts({ details, isObject, marks, nowMs }: ItemChartsProps) {
  const { minutes, heatBounds } = details;
  const data = useMemo(() => {
    const toS = minutes.at(-1)?.t ?? 0;
    const [first] = minutes;
    const fromS = Math.min(toS - MIN_RANGE_S, first === undefined ? toS : first.t - first.seconds);
    return { points: minutes, marks, fromS, toS };
  }, [minutes, marks]);
  const cursor = useCursor(minutes);
  // The last whole minute; the running one is short.
  const minute = minutes.at(-2) ?? minutes.at(-1);
  if (minute === undefined) return null;
  return (
    <section aria-label="Over time">
      <output class="moment">
        {cursor.point === undefined ? '' : `Minute to ${formatTime(cursor.point.t * 1000, nowMs)}`}
      </output>
      <ChartStack specs={isObject ? OBJECT_CHARTS : CALL_CHARTS} {...{ data, minute, cursor, nowMs }}>
        {!isObject && <HeatMap {...{ data, heatBounds }} minute={cursor.point} lastMinute={minute} />}
      </ChartStack>
    </section>
  );
}

interface HeatMapProps {
  readonly data: PlotData<ItemMinute>;
  readonly heatBounds: readonly number[];
  /** Under the cursor. */
  readonly minute: ItemMinute | undefined;
  readonly lastMinute: ItemMinute;
}

/** One column for each minute, one row for each range of durations; the darker, the more calls. */
function HeatMap({ data, heatBounds, minute, lastMinute }: HeatMapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scheme = useScheme();
  const height = (heatBounds.length + 1) * ROW_PX;
  // Depends on `scheme`, since the colours of the page are read here.
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const draw = () => drawHeat(element, data, heatBounds, height);
    draw();
    const observer = new ResizeObserver(draw);
    observer.observe(element);
    return () => observer.disconnect();
  }, [data, heatBounds, height, scheme]);
  return (
    <figure class="chart heat" aria-labelledby="chart-item-heat">
      <figcaption>
        <h3 id="chart-item-heat">
          <Term def="item.heat">How many took how long</Term>
        </h3>
        <p class="legend" data-def="item.heat">
          {minute === undefined && 'last minute: '}
          {describeMost(minute ?? lastMinute, heatBounds)}
        </p>
      </figcaption>
      <div class="plot" aria-hidden="true">
        <canvas ref={canvas} style={{ height: `${height}px` }} />
      </div>
    </figure>
  );
}

/** E.g. `most took 25 to 46 ms: 7 of 12`. */
function describeMost({ heat }: Pick<ItemMinute, 'heat'>, bounds: readonly number[]): string {
  const all = heat.reduce((sum, count) => sum + count, 0);
  if (all === 0) return 'no calls';
  const most = Math.max(...heat);
  const at = heat.indexOf(most);
  const [from, to] = [bounds[at - 1], bounds[at]];
  const range =
    to === undefined
      ? `over ${formatDuration(from ?? 0)}`
      : from === undefined
        ? `up to ${formatDuration(to)}`
        : `${formatDuration(from)} to ${formatDuration(to)}`;
  return `most took ${range}: ${formatCount(most)} of ${formatCount(all)}`;
}

function drawHeat(
  canvas: HTMLCanvasElement,
  { points, fromS, toS }: PlotData<ItemMinute>,
  heatBounds: readonly number[],
  height: number,
): void {
  const context = canvas.getContext('2d');
  const width = canvas.clientWidth;
  if (context === null || width === 0) return;
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  context.scale(devicePixelRatio, devicePixelRatio);
  const colours = getComputedStyle(document.documentElement);
  const xOf = (t: number) => Y_AXIS_PX + ((t - fromS) / (toS - fromS)) * (width - Y_AXIS_PX - RIGHT_PX);
  const yOf = (row: number) => height - (row + 1) * ROW_PX;
  context.font = FONT;
  context.textAlign = 'right';
  context.fillStyle = colours.getPropertyValue('--muted');
  context.strokeStyle = colours.getPropertyValue('--grid');
  for (const bound of LABEL_BOUNDS) {
    const row = heatBounds.indexOf(bound);
    if (row < 0) continue;
    const y = yOf(row);
    context.fillText(withoutZeros(formatDuration(bound)), Y_AXIS_PX - 6, Math.max(9, y + 4));
    context.beginPath();
    context.moveTo(Y_AXIS_PX, y);
    context.lineTo(width - RIGHT_PX, y);
    context.stroke();
  }
  const most = Math.max(1, ...points.flatMap(({ heat }) => heat));
  context.fillStyle = colours.getPropertyValue('--series-a');
  for (const { t, seconds, heat } of points) {
    const left = xOf(t - Math.min(seconds, MINUTE_S));
    for (const [row, count] of heat.entries()) {
      if (count === 0) continue;
      // One call is visible beside a thousand.
      context.globalAlpha = 0.2 + (0.8 * Math.log1p(count)) / Math.log1p(most);
      context.fillRect(left, yOf(row), Math.max(1, xOf(t) - left - 0.5), ROW_PX - 0.5);
    }
  }
  context.globalAlpha = 1;
}
