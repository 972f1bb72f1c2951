/** A chart with a summary for screen readers and a legend: values under the cursor, or of the last minute. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { type ChartSpec, describeChart } from './chart-specs.ts';
import { Term } from './explanations.tsx';
import { Plot, type PlotData, type Pointer } from './plot.ts';

export interface ChartProps<Point> {
  readonly spec: ChartSpec<Point>;
  readonly data: PlotData<Point>;
  /** The numbers of the legend while the cursor is on no point. */
  readonly minute: Point;
  /** The point under the cursor. */
  readonly moment: Point | undefined;
  readonly hasMarkNames: boolean;
  readonly onMoment: (t: number | undefined) => void;
  readonly onZoom?: ((fromS: number, toS: number) => void) | undefined;
  /** What the numbers of the legend are of, if not of the last minute. */
  readonly legendOf?: string | undefined;
  /** Gets the plot, by which the parent moves the cursor. */
  readonly pointer?: { current: Pointer | undefined } | undefined;
}

const DARK = '(prefers-color-scheme: dark)';
const HEIGHT_PX = 124;
const NAMES_PX = 10;

export function Chart<Point>(props: ChartProps<Point>) {
  const { spec, data, minute, moment, hasMarkNames, onMoment, onZoom, pointer } = props;
  const scheme = useScheme();
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot<Point>>(undefined);
  const latest = useRef(data);
  latest.current = data;
  const height = HEIGHT_PX + (hasMarkNames ? NAMES_PX : 0);
  // Depends on `scheme`: the plot reads the colours of the page when it is created.
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const size = { width: Math.max(element.clientWidth, 120), height };
    const created = new Plot<Point>(element, { spec, ...size, hasMarkNames, onMoment, onZoom }, latest.current);
    plot.current = created;
    if (pointer !== undefined) pointer.current = created;
    const observer = new ResizeObserver(() => created.resize(Math.max(element.clientWidth, 120), height));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current = undefined;
      created.destroy();
    };
  }, [spec, scheme, hasMarkNames, height, onMoment, onZoom, pointer]);
  useEffect(() => plot.current?.update(data), [data]);
  return (
    <figure class="chart" aria-labelledby={`chart-${spec.id}`}>
      <figcaption>
        <h3 id={`chart-${spec.id}`}>
          <Term def={spec.def}>{spec.title}</Term>
        </h3>
        <Legend {...{ spec, moment, minute }} legendOf={props.legendOf} />
        <p class="hidden">{describeChart(spec, data.points)}</p>
      </figcaption>
      <div class="plot" ref={box} aria-hidden="true" />
    </figure>
  );
}

/** Values of the point under the cursor; without one those of the last minute, as in the figures. */
function Legend<Point>(props: Pick<ChartProps<Point>, 'spec' | 'moment' | 'minute' | 'legendOf'>) {
  const { spec, moment: point, minute, legendOf = spec.isNow === true ? 'now' : 'last minute' } = props;
  const { extra } = spec;
  return (
    <ul class="legend">
      {point === undefined && <li class="window">{legendOf}</li>}
      {point === undefined && extra !== undefined && (
        <li data-def={spec.def}>
          {extra.label} <b>{extra.text(minute)}</b>
        </li>
      )}
      {spec.lines.map((line) => {
        const value = line.value(point ?? minute);
        return (
          <li key={line.label} data-def={spec.def}>
            <Swatch colour={line.colour} dash={line.dash} />
            {` ${line.label} `}
            <b>{value === null ? '–' : spec.format(value)}</b>
          </li>
        );
      })}
    </ul>
  );
}

function Swatch({ colour, dash }: { colour: string; dash: readonly number[] | undefined }) {
  return (
    <svg class="swatch" width="18" height="4" aria-hidden="true" style={{ stroke: `var(--series-${colour})` }}>
      <line x1="0" y1="2" x2="18" y2="2" stroke-width="3" stroke-dasharray={dash?.join(' ')} />
    </svg>
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
