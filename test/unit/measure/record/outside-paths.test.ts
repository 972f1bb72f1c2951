import { expect, it } from 'vitest';
import { OutsidePaths } from '../../../../src/measure/record/outside-paths.ts';

function outsideOf(applications: readonly string[], targets: readonly string[]) {
  const outside = new OutsidePaths(applications);
  for (const target of targets) outside.add(target);
  const { segments, ...counts } = outside.read();
  return { ...counts, segments: segments.map(([segment, count]) => `${segment} ${count}`) };
}

it('requests outside of the applications are counted by the first segment of their path, most frequent first', () => {
  const targets = ['/plant/a', '/manager/html?x=1', '/plant', '/plant/b;jsessionid=7', '/'];
  expect(outsideOf(['smartWeb'], targets)).toEqual({ count: 5, other: 1, segments: ['plant 3', 'manager 1'] });
});

it('requests outside of the applications are none of those below an application, however it is written and however long', () => {
  const inside = ['/smartWeb', '/smartWeb/', '/smartWeb/x', '//smartWeb/x', '/x/../smartWeb/', '/smart%57eb/y'];
  expect(outsideOf(['smartWeb'], inside).count).toBe(0);
  expect(outsideOf(['plant/north'], ['/plant/north/x', '/plant/north']).count).toBe(0);
  expect(outsideOf(['plant/north'], ['/plant/south/x', '/plant']).segments).toEqual(['plant 2']);
  expect(outsideOf([''], ['/anything', '/']).count).toBe(0);
  expect(outsideOf(['smartWeb'], ['/smartWebTest/x']).segments).toEqual(['smartWebTest 1']);
  const long = [`/smartWeb/${'%C5%99/'.repeat(2_000)}`, `/smartWeb/${'a'.repeat(16_000)}`];
  expect(outsideOf(['smartWeb'], long).count).toBe(0);
});

it('requests outside of the applications are counted where there is no path to read', () => {
  expect(outsideOf(['smartWeb'], ['*', 'plant:443', '/..', '/%zz', 'http://plant'])).toEqual({
    ...{ count: 5, segments: [], other: 5 },
  });
});

it.each(['smartWeb', 'SmartWebTest2', 'host-manager', 'D2000_web', 'robots.txt', 'Čistička'])(
  'requests outside of the applications show %s, which looks like the name of an application',
  (name) => {
    expect(outsideOf(['other'], [`/${encodeURIComponent(name)}/x`]).segments).toEqual([`${name} 1`]);
  },
);

it.each([
  ['a session id', '4f1c2a9be07d4c55a1f0d9e2b3c4d5e6'],
  ['a JSON Web Token', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm5hIn0.x7Zr'],
  ['a token of 16 letters and digits', 'kQ3vZ8mT1xLw5RbY'],
  ['a mail address', 'anna@plant.example'],
  ['markup', '%3Cscript%3E'],
  ['a very long segment', 'a'.repeat(10_000)],
  ['broken escapes', 'a%zz'],
])('requests outside of the applications do not show %s', (_what, segment) => {
  const { segments, other } = outsideOf(['smartWeb'], [`/${segment}`]);
  expect(JSON.stringify(segments)).not.toMatch(/rm|script|anna|eyJ|4f1c|kQ3|2026|a%zz|aaa/);
  expect(segments.length + other).toBe(1);
});

it('requests outside of the applications show hidden characters as U+FFFD', () => {
  const { segments } = outsideOf(['smartWeb'], ['/plant%E2%80%AEnorth', '/plant%1Bnorth']);
  expect(segments).toEqual(['plant\ufffdnorth 2']);
});

it('requests outside of the applications stay bounded in a scan, in which a name that comes often stays', () => {
  const outside = new OutsidePaths(['smartWeb']);
  const nameOf = (i: number) =>
    `scan-${'abcdefghij'[i % 10]}${'klmnopqrst'[Math.floor(i / 10) % 10]}${'uvwxyzabcd'[Math.floor(i / 100) % 10]}`;
  for (let i = 0; i < 1_000; i += 1) {
    outside.add(`/${nameOf(i)}/index.php`);
    if (i % 10 === 0) outside.add('/plant/x');
  }
  const { count, segments, other } = outside.read();
  expect([count, segments.length, segments[0]]).toEqual([1_100, 5, ['plant', 100]]);
  expect(other + segments.reduce((sum, [, one]) => sum + one, 0)).toBe(1_100);
});
