import { expect, it } from 'vitest';
import { MAX_PATHS, UnclassifiedRequests } from '../../../../src/measure/record/unclassified-requests.ts';
import { ManualClock } from '../../../support/clock.ts';

const MS = 1e6;

function requestsOf(targets: readonly string[], applications: readonly string[] = ['smartWeb']): UnclassifiedRequests {
  const clock = new ManualClock();
  const requests = new UnclassifiedRequests(applications, clock);
  for (const target of targets) requests.add(target, () => false, 20 * MS, clock.nowNs());
  return requests;
}

const pathsOf = (targets: readonly string[]) => requestsOf(targets).readPaths();

function outsideOf(targets: readonly string[], applications?: readonly string[]) {
  const requests = requestsOf(targets, applications);
  const { segments, other } = requests.readOutside();
  return { count: requests.outside, other, segments: segments.map(([segment, count]) => `${segment} ${count}`) };
}

it('requests that are no calls are counted by their path, most frequent first: eight segments below an application, two elsewhere', () => {
  const found = pathsOf(['/x/odata/Pumps', '/x/odata/$metadata?x=1', `/smartWeb${'/b'.repeat(20)}`, '/']);
  const counts = found.map(({ path, count }) => `${path} ${count}`);
  expect(counts).toEqual(['/x/odata 2', `/smartWeb${'/b'.repeat(7)} 1`, '/ 1']);
  // Within 10 %.
  expect(Math.abs((found[0]?.p95 ?? 0) - 0.02)).toBeLessThan(0.002);
});

it.each([
  ["/smartWeb/odata/Pumps('anna@plant')/x", '/smartWeb/odata/Pumps({})/x'],
  ['/smartWeb/odata/$metadata', '/smartWeb/odata/$metadata'],
  ['/users/4711', '/users/{}'],
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

it('requests outside of the applications are counted by the first segment of their path, most frequent first, and where there is no path to read', () => {
  const targets = ['/plant/a', '/manager/html?x=1', '/plant', '/plant/b;jsessionid=7', '/'];
  expect(outsideOf(targets)).toEqual({ count: 5, other: 1, segments: ['plant 3', 'manager 1'] });
  expect(outsideOf(['*', 'plant:443', '/..', '/%zz', 'http://plant'])).toEqual({ count: 5, segments: [], other: 5 });
});

it('requests outside of the applications are none of those below an application, however it is written and however long', () => {
  const inside = ['/smartWeb', '/smartWeb/', '/smartWeb/x', '//smartWeb/x', '/x/../smartWeb/', '/smart%57eb/y'];
  const long = [`/smartWeb/${'%C5%99/'.repeat(2_000)}`, `/smartWeb/${'a'.repeat(16_000)}`];
  const requests = requestsOf([...inside, ...long]);
  expect([requests.outside, requests.belowOf('smartWeb')]).toEqual([0, 8]);
  expect(outsideOf(['/plant/north/x', '/plant/north'], ['plant/north']).count).toBe(0);
  expect(outsideOf(['/plant/south/x', '/plant'], ['plant/north']).segments).toEqual(['plant 2']);
  expect(outsideOf(['/anything', '/'], ['']).count).toBe(0);
  for (const name of ['smartWebTest2', 'host-manager', 'D2000_web', 'robots.txt', 'Čistička']) {
    expect(outsideOf([`/${encodeURIComponent(name)}/x`]).segments).toEqual([`${name} 1`]);
  }
  expect(outsideOf(['/plant%E2%80%AEnorth', '/plant%1Bnorth']).segments).toEqual(['plant\ufffdnorth 2']);
});

it.each([
  ['a session id', '4f1c2a9be07d4c55a1f0d9e2b3c4d5e6'],
  ['a token of 16 letters and digits', 'kQ3vZ8mT1xLw5RbY'],
  ['a mail address', 'anna@plant.example'],
  ['markup', '%3Cscript%3E'],
  ['a very long segment', 'a'.repeat(10_000)],
  ['broken escapes', 'a%zz'],
])('requests outside of the applications do not show %s', (_what, segment) => {
  expect(outsideOf([`/${segment}`])).toEqual({ count: 1, segments: [], other: 1 });
  expect(pathsOf([`/${segment}`])[0]?.path).toBe('/{}');
});

it('requests outside of the applications stay bounded in a scan, in which a name that comes often stays', () => {
  const nameOf = (i: number) =>
    `scan-${'abcdefghij'[i % 10]}${'klmnopqrst'[Math.floor(i / 10) % 10]}${'uvwxyzabcd'[Math.floor(i / 100) % 10]}`;
  const scan = Array.from({ length: 1_000 }, (_, i) => [`/${nameOf(i)}/index.php`, ...(i % 10 ? [] : ['/plant/x'])]);
  const requests = requestsOf(scan.flat());
  const { segments, other } = requests.readOutside();
  expect([requests.outside, segments.length, segments[0]]).toEqual([1_100, 5, ['plant', 100]]);
  expect(other + segments.reduce((sum, [, one]) => sum + one, 0)).toBe(1_100);
});
