import { expect, it } from 'vitest';
import { linkTo } from '../../../src/export/alerts/message.ts';
import { createInitialState, readNowMs, withLive, withoutLive } from '../../../src/page/page-state.ts';
import { formatItemPath } from '../../../src/page/poller.ts';
import { formatRoute, parseRoute, type Route } from '../../../src/page/route.ts';
import { listChanges } from '../../../src/page/sentences.ts';
import { application, live, NOW_MS, points } from '../../support/page/samples.ts';

const START = createInitialState(parseRoute(''));
const withPoints = (count: number, startTime?: string) =>
  live({ applications: [application(points(count, () => ({})))], ...(startTime === undefined ? {} : { startTime }) });

it('the state of the page appends new points, up to an hour of them', () => {
  const once = withLive(START, withPoints(700), 0);
  const twice = withLive(once, withPoints(730), 2_000);
  const lastHour = Array.from({ length: 720 }, (_, at) => at + 10);
  expect(twice.histories.get('smartWeb')?.map(({ seq }) => seq)).toEqual(lastHour);
});

it('the state of the page starts afresh with another process of the sidecar, and says so once', () => {
  const before = withLive(START, withPoints(50), 0);
  const after = withLive(before, withPoints(2, '2026-03-01T11:59:58.000Z'), 2_000);
  expect(after.histories.get('smartWeb')).toHaveLength(2);
  expect(after.restartedAtMs).toBe(NOW_MS - 2_000);
  expect(listChanges(before, after, NOW_MS).join()).toMatch(/^The sidecar was restarted at /);
  expect(listChanges(after, after, NOW_MS)).toEqual([]);
});

it('the state of the page remembers since when the connection is lost, by the clock of the sidecar', () => {
  const known = withLive(START, withPoints(1), 10_000);
  const lost = withoutLive(known, { kind: 'lost', reason: 'no connection' }, 12_500);
  const later = withoutLive(lost, { kind: 'lost', reason: 'no connection' }, 20_000);
  expect(later.connection).toEqual({ kind: 'lost', sinceMs: NOW_MS + 2_500, reason: 'no connection' });
  expect(later.live).toBe(known.live);
  expect(readNowMs(later, 20_000)).toBe(NOW_MS + 10_000);
});

it('the state of the page drops everything on a 401, for another reader, and keeps it on any other refusal, which says how long to wait', () => {
  const refused = { kind: 'refused', status: 401, detail: 'Who?', retryAfterS: 0 } as const;
  const once = withoutLive(withLive(START, withPoints(3), 0), refused, 1);
  expect([once.live, once.table, once.histories.size]).toEqual([undefined, undefined, 0]);
  expect(once.connection).toEqual({ kind: 'signIn', detail: 'Who?', wasTried: false });
  expect(withoutLive(once, refused, 2).connection).toMatchObject({ wasTried: true });
  // Certificates have no challenge.
  expect(withoutLive(START, { ...refused, status: 403 }, 1).connection.kind).toBe('signIn');
  const limited = { kind: 'refused', status: 429, detail: 'Too many.', retryAfterS: 7 } as const;
  const state = withoutLive(withLive(START, withPoints(3), 0), limited, 1);
  expect(state.connection).toEqual({ kind: 'refused', detail: 'Too many. Trying again in 7 s.' });
  expect(state.live).toBeDefined();
});

const PLAIN = { sort: undefined, filter: '', onlyErrors: false, lists: {}, rangeS: undefined, past: undefined };

it.each<Route>([
  { application: 'smartWeb', table: 'rpc', item: undefined, view: PLAIN },
  { application: undefined, table: 'sba', item: undefined, view: PLAIN },
  { application: '', table: 'sessions', item: 'a-b_c', view: PLAIN },
  { application: 'plant/web', table: 'objects', item: 'H.Kotolňa/1 #%?', view: PLAIN },
  {
    ...{ application: 'smartWeb', table: 'rpc', item: undefined },
    view: {
      ...{ sort: { key: 'p99', isDescending: true }, filter: 'Kotolňa & 1=2?#/%', onlyErrors: true, rangeS: 900 },
      lists: { callers: { key: 'count', isDescending: false }, slowest: { key: 'duration', isDescending: true } },
      past: { rangeS: 86_400, toS: 1_772_366_400, shiftS: 604_800, sinceS: 1_772_360_000, kind: 'sba' },
    },
  },
])('addresses survive a round trip: %o', (route) => {
  expect(parseRoute(formatRoute(route))).toEqual(route);
});

it.each([
  ['smartWeb', 'rpc', 'E.A.B', 'smartWeb/api/rest/v0/admin/metrics/d2/rpc/E.A.B'],
  ['', 'objects', 'H/1', 'api/rest/v0/admin/metrics/d2/object/H%2F1'],
  ['a/b', 'sessions', 'x&y', 'a/b/api/rest/v0/admin/metrics/d2?session=x%26y'],
] as const)('addresses of one item of "%s" are those of the monitoring interface', (application, table, item, path) => {
  expect(formatItemPath(application, table, item)).toBe(path);
});

it.each([
  ['smartWeb', 'rpc', 'E.Boiler.Start', 'E.Boiler.Start'],
  ['', 'sba', 'a/b?c#d e%', 'a/b?c#d e%'],
  ['smartWeb', 'rpc', 'E.Boiler.*', undefined],
  ['smartWeb', null, null, undefined],
])('the link of a message in /%s about %s %s opens that view', (application, kind, name, item) => {
  const url = linkTo('http://host:9280/', { application, kind, name, subject: 'server', code: 'calls-late', text: '' });
  const route = parseRoute(new URL(url).hash);
  expect(route).toMatchObject({ application, table: item === undefined ? 'rpc' : kind, item });
});
