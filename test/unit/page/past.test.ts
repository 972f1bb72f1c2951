import { expect, it } from 'vitest';
import {
  factorOf,
  joinSteps,
  type NameRow,
  type PastView,
  type Steps,
  selectQuery,
  zoomTo,
} from '../../../src/page/past.ts';
import { formatFactor } from '../../../src/page/past-columns.ts';
import { parseRoute } from '../../../src/page/route.ts';

const NOW_S = Date.UTC(2026, 2, 8, 12, 0, 30) / 1_000;
const VIEW: PastView = { rangeS: 3_600, toS: undefined, shiftS: undefined, sinceS: undefined, kind: 'rpc' };
const steps = (step: number, ...rows: readonly (readonly [string, number])[]): Steps => {
  return { step, rows: rows.map(([time, count]) => [`2026-03-${time}:00Z`, count, 0, 0.01, 0.02, 0.03, 0.04]) };
};

it.each([
  ['a range that ends before now', 100, 4_000, { rangeS: 3_900, toS: 4_020 }],
  ['a range to now, or beyond', NOW_S - 7_200, NOW_S + 10, { rangeS: 7_260, toS: undefined }],
  ['at least ten minutes', 1_000, 1_030, { rangeS: 600, toS: 1_080 }],
])('zooming chooses %s', (_, from, to, expected) => {
  expect(zoomTo(VIEW, from, to, NOW_S)).toEqual({ ...VIEW, ...expected });
});

it('an address is what is requested: to the running minute, of the open name, or of a kind', () => {
  const query = (hash: string) => selectQuery(parseRoute(hash), 'smartWeb', NOW_S);
  expect(query('#/smartWeb/rpc')).toBeUndefined();
  const toS = NOW_S - 30;
  expect(query('#/smartWeb/rpc?past=3600&of=sba')).toMatchObject({
    name: 'sba',
    isSingle: false,
    fromS: toS - 3_600,
    toS,
  });
  expect(query('#/smartWeb/rpc/E.A?past=3600&shift=86400')).toMatchObject({
    name: 'rpc.E.A',
    isSingle: true,
    shiftS: 86_400,
  });
  expect(query('#/smartWeb/sessions/x?past=3600')).toMatchObject({ name: 'rpc', isSingle: false });
  expect(query('#/smartWeb/rpc?past=1')).toMatchObject({ fromS: toS - 600 });
  expect(query('#/smartWeb/rpc?past=-5')).toBeUndefined();
});

it('steps of two times share a point, and a step that was not measured is a gap', () => {
  const fromS = Date.UTC(2026, 2, 8, 11) / 1_000;
  const range = { fromS, toS: fromS + 1_800, shiftS: 86_400 };
  const now = { calls: steps(600, ['08T11:00', 5], ['08T11:20', 7]), sessions: undefined };
  const before = { calls: steps(600, ['07T11:10', 3]), sessions: steps(600, ['07T11:10', 4]) };
  const points = joinSteps(range, now, before, fromS + 1_425);
  expect(points.map(({ now, before: other }) => [now.calls?.count, other.calls?.count, other.sessions])).toEqual([
    [5, undefined, undefined],
    [undefined, 3, 4],
    [7, undefined, undefined],
  ]);
  // The last step runs.
  expect(points.map(({ step, seconds }) => [step, seconds])).toEqual([
    [600, 600],
    [600, 600],
    [600, 180],
  ]);
});

it.each<[Partial<NameRow>, number | null, string]>([
  [{ p50: 2, p50Before: 1, p95: 9, p95Before: 3 }, 3, '▲ ×3.00'],
  [{ p50: 1, p50Before: 2, p95: 2, p95Before: 4 }, 0.5, '▼ ×0.50'],
  [{ p50: 1, p50Before: null, p95: null, p95Before: 3 }, null, '–'],
  [{ p50: 1.1, p50Before: 1, p95: 1, p95Before: 1 }, 1.1, '×1.10'],
])('the change of %o is %s, shown as %s', (row, factor, text) => {
  const found = factorOf(row as NameRow);
  expect(found).toBe(factor);
  expect(formatFactor(found)).toBe(text);
});
