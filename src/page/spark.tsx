/** A line without axes: a value over its last steps. Nulls before the first measurement leave a gap. */
const WIDTH = 72;
const HEIGHT = 18;
const EDGE = 1.5;

export function Spark({ values }: { values: readonly (number | null)[] }) {
  const known = values.filter((value) => value !== null);
  const most = Math.max(...known, 0);
  const last = Math.max(values.length - 1, 1);
  const points = values.flatMap((value, at) => {
    if (value === null) return [];
    const x = EDGE + (at / last) * (WIDTH - 2 * EDGE);
    const y = HEIGHT - EDGE - (most === 0 ? 0 : (value / most) * (HEIGHT - 2 * EDGE));
    return [`${x.toFixed(1)},${y.toFixed(1)}`];
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
      aria-label={known.length === 0 ? 'not measured yet' : known.join(', ')}
    >
      <polyline points={points.join(' ')} />
    </svg>
  );
}
