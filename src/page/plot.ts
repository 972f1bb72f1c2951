/** One chart, drawn by uPlot in the colours of page.css. */
import uPlot from 'uplot';
import { type ChartSpec, heightOf, type Line } from './chart-specs.ts';
import { drawMarks } from './draw-marks.ts';
import { formatDay } from './format.ts';
import type { Mark } from './live-data.ts';

/** A point of the time axis. */
export interface Timed {
  /** In epoch seconds. */
  readonly t: number;
}

/** What moves the cursor of all charts. */
export type Pointer = Pick<Plot<unknown>, 'point'>;

export interface PlotOptions<Point> {
  readonly spec: ChartSpec<Point>;
  readonly width: number;
  readonly height: number;
  /** Only the top chart shows the names of marks. */
  readonly hasMarkNames: boolean;
  /** Receives the moment under the cursor, which all charts share; undefined when the cursor leaves. */
  readonly onMoment: (t: number | undefined) => void;
  /** Receives the range that the reader has drawn; undefined: none can be drawn. */
  readonly onZoom?: ((fromS: number, toS: number) => void) | undefined;
}

export interface PlotData<Point> {
  readonly points: readonly (Point & Timed)[];
  readonly marks: readonly Mark[];
  readonly fromS: number;
  readonly toS: number;
}

/** Charts with the same key share their cursor. */
const SYNC_KEY = 'time';
/** The same for all charts, so that their times align. */
export const Y_AXIS_PX = 58;
const X_AXIS_PX = 24;
/** Half of a time label, which may be centred at the very end. */
export const RIGHT_PX = 20;
const MARK_NAMES_PX = 16;
const TIME_LABEL_PX = 60;
/** Less is a click. */
const MIN_DRAWN_PX = 4;
const DAY_S = 86_400;
export const FONT = '11px system-ui, sans-serif';

export class Plot<Point> {
  readonly #spec: ChartSpec<Point>;
  readonly #plot: uPlot;
  #marks: readonly Mark[] = [];

  constructor(target: HTMLElement, options: PlotOptions<Point>, data: PlotData<Point>) {
    this.#spec = options.spec;
    this.#plot = new uPlot(this.#toOptions(options), undefined, target);
    this.update(data);
  }

  update(data: PlotData<Point>): void {
    this.#marks = data.marks;
    const heights = this.#spec.lines.map((_, at) => data.points.map((point) => heightOf(this.#spec, at, point)));
    this.#plot.batch(() => {
      this.#plot.setData([data.points.map(({ t }) => t), ...heights], false);
      this.#plot.setScale('x', { min: data.fromS, max: data.toS });
      this.#plot.setScale('y', {
        min: 0,
        max: 1.1 * Math.max(this.#spec.minTop, ...heights.flat().map((height) => height ?? 0)),
      });
    });
  }

  resize(width: number, height: number): void {
    this.#plot.setSize({ width, height });
  }

  /** Moves the cursor to a moment; undefined hides it. */
  point(t: number | undefined): void {
    const left = t === undefined ? -10 : this.#plot.valToPos(t, 'x');
    this.#plot.setCursor({ left, top: t === undefined ? -10 : 1 });
  }

  destroy(): void {
    this.#plot.destroy();
  }

  #toOptions({ spec, width, height, hasMarkNames, onMoment, onZoom }: PlotOptions<Point>): uPlot.Options {
    const colours = getComputedStyle(document.documentElement);
    const colour = (name: string) => colours.getPropertyValue(`--${name}`).trim();
    const axis = {
      stroke: colour('muted'),
      font: FONT,
      grid: { stroke: colour('grid'), width: 1 },
      ticks: { show: false },
    };
    return {
      width,
      height,
      padding: [hasMarkNames ? MARK_NAMES_PX : 6, RIGHT_PX, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: SYNC_KEY, setSeries: false },
        drag: { x: onZoom !== undefined, y: false, setScale: false },
        y: false,
        points: { size: 6 },
      },
      scales: { x: { time: true, auto: false }, y: { auto: false } },
      axes: [
        { ...axis, size: X_AXIS_PX, values: formatTimes, gap: 4, space: TIME_LABEL_PX },
        {
          ...axis,
          size: Y_AXIS_PX,
          gap: 6,
          space: 26,
          values: (_plot, splits) => splits.map((value) => withoutZeros(spec.format(value))),
          ...(spec.axisSteps === undefined ? {} : { incrs: [...spec.axisSteps] }),
        },
      ],
      series: [{}, ...spec.lines.map((line) => createSeries(line, colour, spec))],
      // A stacked area ends where the one below it begins.
      bands: spec.lines.flatMap(({ isStacked }, at) => (isStacked === true ? [{ series: [at + 1, at] as const }] : [])),
      hooks: {
        draw: [
          (plot) =>
            drawMarks(plot, this.#marks, {
              colour: colour('mark'),
              shade: `${colour('warn')}1f`,
              text: colour('ink'),
              font: FONT,
              hasNames: hasMarkNames,
            }),
        ],
        setSelect: [
          (plot) => {
            const { left, width: drawn } = plot.select;
            if (drawn < MIN_DRAWN_PX) return;
            plot.setSelect({ ...plot.select, width: 0 }, false);
            onZoom?.(plot.posToVal(left, 'x'), plot.posToVal(left + drawn, 'x'));
          },
        ],
        setCursor: [
          (plot) => {
            const index = plot.cursor.idx;
            onMoment(index === null || index === undefined ? undefined : plot.data[0]?.[index]);
          },
        ],
      },
    };
  }
}

function createSeries<Point>(
  line: Line<Point>,
  colour: (name: string) => string,
  { isBars = false, hasSinglePoints = false }: ChartSpec<Point>,
): uPlot.Series {
  const stroke = colour(`series-${line.colour}`);
  return {
    label: line.label,
    stroke,
    width: line.width ?? 1.5,
    ...(line.dash === undefined ? {} : { dash: [...line.dash] }),
    ...(line.isFilled === true ? { fill: `${stroke}${isBars ? 'b0' : '26'}` } : {}),
    ...(isBars && uPlot.paths.bars !== undefined ? { paths: uPlot.paths.bars({ size: [0.8, 8, 1], align: -1 }) } : {}),
    points: hasSinglePoints
      ? { show: true, size: 3, fill: stroke, width: 0, filter: findSinglePoints }
      : { show: false },
    spanGaps: false,
  };
}

/** The indexes of values without neighbours. */
function findSinglePoints({ data }: uPlot, series: number): number[] {
  const values = data[series] ?? [];
  return Array.from(values.keys()).filter(
    (at) => values[at] != null && values[at - 1] == null && values[at + 1] == null,
  );
}

/** `5 ms` from `5.00 ms`: an axis has round numbers. */
export function withoutZeros(text: string): string {
  return text.replace(/\.0+(?!\d)/, '');
}

/** `14:05`, or with seconds if the axis has steps below a minute; of days, and at midnight, `11-26`. */
function formatTimes(_plot: uPlot, splits: readonly number[]): string[] {
  const hasSeconds = splits.some((t) => t % 60 !== 0);
  const isLong = (splits.at(-1) ?? 0) - (splits[0] ?? 0) > DAY_S;
  return splits.map((t) => {
    const time = new Date(t * 1000);
    const isMidnight = time.getHours() === 0 && time.getMinutes() === 0;
    if (isLong && isMidnight) return formatDay(t * 1000).slice(5);
    const parts = [time.getHours(), time.getMinutes(), ...(hasSeconds ? [time.getSeconds()] : [])];
    return parts.map((part) => String(part).padStart(2, '0')).join(':');
  });
}
