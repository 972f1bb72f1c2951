/** A line without axes: how something went in its last steps. */
const WIDTH = 72;
const HEIGHT = 18;
const EDGE = 1.5;

export function Spark({ values }: { values: readonly number[] }) {
  const most = Math.max(...values, 0);
  const last = Math.max(values.length - 1, 1);
  const points = values.map((value, at) => {
    const x = EDGE + (at / last) * (WIDTH - 2 * EDGE);
    const y = HEIGHT - EDGE - (most === 0 ? 0 : (value / most) * (HEIGHT - 2 * EDGE));
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={values.join(', ')}>
      <polyline points={points.join(' ')} />
    </svg>
  );
}
