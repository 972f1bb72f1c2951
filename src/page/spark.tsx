/** A line without axes: a value over its last steps. Nulls leave gaps. */
const WIDTH = 72;
const HEIGHT = 18;
const EDGE = 1.5;

interface SparkProps {
  readonly values: readonly (number | null)[];
  /** Lower values are drawn here. Default 0. */
  readonly least?: number;
  /** Draws a straight line there. */
  readonly line?: number;
  /** For screen readers; default: the values. */
  readonly label?: string;
}

export function Spark({ values, least = 0, line, label }: SparkProps) {
  const known = values.filter((value) => value !== null);
  const span = Math.max(...known, line ?? 0) - least;
  const last = Math.max(values.length - 1, 1);
  const yOf = (value: number) =>
    (HEIGHT - EDGE - (span <= 0 ? 0 : (Math.max(value - least, 0) / span) * (HEIGHT - 2 * EDGE))).toFixed(1);
  const steps = values.map((value, at) => {
    if (value === null) return '';
    const x = (EDGE + (at / last) * (WIDTH - 2 * EDGE)).toFixed(1);
    // A value between gaps is a dot.
    return (values[at - 1] ?? null) === null ? `M${x},${yOf(value)}h0` : `L${x},${yOf(value)}`;
  });
  return (
    <svg
      class="spark"
      width={WIDTH}
      height={HEIGHT}
      fill="none"
      stroke-width="1.4"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={known.length === 0 ? 'not measured yet' : (label ?? known.join(', '))}
    >
      {line !== undefined && <path class="wanted" d={`M0,${yOf(line)}h${WIDTH}`} stroke-width="1" />}
      <path d={steps.join('')} stroke-linecap="round" />
    </svg>
  );
}
