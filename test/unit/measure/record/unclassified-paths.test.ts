import { expect, it } from 'vitest';
import { MAX_PATHS, UnclassifiedPaths } from '../../../../src/measure/record/unclassified-paths.ts';
import { ManualClock } from '../../../support/clock.ts';

const MS = 1e6;

function pathsOf(targets: readonly string[], isBelow = false) {
  const clock = new ManualClock();
  const paths = new UnclassifiedPaths(clock);
  for (const target of targets) paths.add(target, isBelow, 20 * MS, clock.nowNs());
  return paths.read(1_000);
}

it('requests that are no calls are counted by the first two segments of their path, most frequent first', () => {
  const found = pathsOf(['/smartWeb/odata/Pumps', '/smartWeb/odata/$metadata?x=1', '/smartWeb/pages/a.html', '/']);
  const counts = found.map(({ path, count }) => `${path} ${count}`);
  expect(counts).toEqual(['/smartWeb/odata 2', '/smartWeb/pages 1', '/ 1']);
  // Within 10 %.
  expect(Math.abs((found[0]?.p95 ?? 0) - 0.02)).toBeLessThan(0.002);
});

it('requests below an application that are no calls show up to eight segments of their path', () => {
  const [rest, long] = pathsOf(['/smartWeb/api/rest/v1/d2/rpc/E.Demo/4f1c2a9be07d4c55', `/a${'/b'.repeat(20)}`], true);
  expect(rest?.path).toBe('/smartWeb/api/rest/v1/d2/rpc/E.Demo/{}');
  expect(long?.path).toBe(`/a${'/b'.repeat(7)}`);
});

it.each([
  ["/odata/Pumps('anna@plant')/x", '/odata/Pumps({})'],
  ['/users/4711', '/users/{}'],
  ['/users/a6f1c2de-0b7d-4c55-a1f0-d9e2b3c4d5e6', '/users/{}'],
  ['/t/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.x7Zr', '/t/{}'],
  ['/a;jsessionid=4F1C2A9BE07D4C55/b', '/a/b'],
  ['/a/anna%40plant.example', '/a/{}'],
  ['/a/%00%1b%5b31m', '/a/{}'],
  [`/a/${'x'.repeat(20_000)}`, '/a/{}'],
  ['*', '/'],
])('requests that are no calls show nothing of %s but its form', (target, path) => {
  expect(pathsOf([target])[0]?.path).toBe(path);
});

it('requests that are no calls push the least recently used path into (other) from the limit on, and lose nothing', () => {
  const letters = (at: number) => String.fromCharCode(97 + Math.floor(at / 26), 97 + (at % 26));
  const scan = Array.from({ length: 300 }, (_, at) => `/app/${letters(at)}`);
  // A page that is in use stays, and so does what comes after a scan.
  const found = pathsOf(['/app/early', ...scan.flatMap((path) => [path, '/app/page']), '/app/late']);
  expect(found).toHaveLength(MAX_PATHS + 1);
  const [page, other] = found;
  expect([page, other]).toMatchObject([
    { path: '/app/page', count: 300 },
    { path: '(other)', count: 103 },
  ]);
  expect(Math.abs((other?.p95 ?? 0) - 0.02)).toBeLessThan(0.002);
  const paths = found.map(({ path }) => path);
  expect(['/app/late', '/app/early', scan[299]].map((path) => paths.includes(path ?? ''))).toEqual([true, false, true]);
});
