import { medians, type Point } from './slope.ts';

const COLUMNS = 72;
const ROWS = 10;

/** A curve in characters, with lowest and highest value on the left, with `digits` digits. */
export function drawCurve(points: readonly Point[], title: string, digits: number): string {
  const lastS = points.at(-1)?.atS ?? 0;
  const columns = medians(points, Math.max(1, (lastS + 1) / COLUMNS));
  const values = columns.map(({ value }) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const rowOf = (value: number) => (high === low ? 0 : Math.round(((value - low) / (high - low)) * (ROWS - 1)));
  const width = Math.max(low.toFixed(digits).length, high.toFixed(digits).length);
  const lines = Array.from({ length: ROWS }, (_, i) => {
    const row = ROWS - 1 - i;
    const label = row === ROWS - 1 ? high.toFixed(digits) : row === 0 ? low.toFixed(digits) : '';
    return `${label.padStart(width)} |${values.map((value) => (rowOf(value) === row ? '*' : ' ')).join('')}`.trimEnd();
  });
  const axis = `${' '.repeat(width)} +${'-'.repeat(values.length)} ${(lastS / 60).toFixed(0)} min`;
  return [title, ...lines, axis].join('\n');
}
