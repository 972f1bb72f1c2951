import { expect, it, vi } from 'vitest';
import type { Answer, Api } from '../../../src/page/api.ts';
import { createInitialState, Store, withLive, withoutLive } from '../../../src/page/page-state.ts';
import { startPastLoader } from '../../../src/page/past-loader.ts';
import { parseRoute } from '../../../src/page/route.ts';
import { live, NOW_MS } from '../../support/page/samples.ts';

const TO_S = NOW_MS / 1_000 - 7_200;
const hash = (more: string) => `#/smartWeb/rpc?past=3600&to=${TO_S}${more}`;
const TIME = new Date((TO_S - 600) * 1_000).toISOString();
const NAMES = { columns: ['name', 'count'], rows: [['rpc.E.A', 3]] };
const LOST = { kind: 'lost', reason: 'no connection' } as const;

/** A page at `hash`, whose port fails while `isDown`. */
function openPage() {
  const page = { isDown: false, asked: 0, pageMs: 0 };
  vi.spyOn(performance, 'now').mockImplementation(() => page.pageMs);
  const get = async (path: string): Promise<Answer<unknown>> => {
    page.asked += 1;
    if (page.isDown) return LOST;
    const value = path.includes('/marks')
      ? []
      : path.includes('/history?')
        ? { step: 600, rows: [[TIME, 3, 0]] }
        : { periods: 8, ...NAMES };
    return { kind: 'ok', value };
  };
  const store = new Store(createInitialState(parseRoute(hash('&shift=86400&since=1'))));
  startPastLoader({ get } as unknown as Api, store);
  const poll = (afterMs: number) => {
    page.pageMs += afterMs;
    const now = new Date(NOW_MS + page.pageMs).toISOString();
    store.update((state) => withLive(state, live({ archive: { failure: null }, now }), page.pageMs));
  };
  const show = (more: string) => store.update((state) => ({ ...state, route: parseRoute(hash(more)) }));
  const settled = () => vi.waitFor(() => expect(store.state.past?.isReading).toBe(false));
  const shown = () => [
    store.state.past?.points.length,
    store.state.past?.names.length,
    store.state.past?.slower?.rows.length,
  ];
  return { page, store, poll, show, settled, shown };
}

it.each([
  ['another mark has no names of the one before', '&shift=86400&since=2', [6, 1, undefined], [6, 1, undefined]],
  ['another time has no numbers of the one before', '&shift=604800&since=1', [6, 1, 1], [0, 0, undefined]],
])('%s', async (_, more, whileReading, afterFailure) => {
  const { page, store, poll, show, settled, shown } = openPage();
  poll(0);
  await settled();
  page.isDown = true;
  show(more);
  expect([store.state.past?.isReading, shown()]).toEqual([true, whileReading]);
  await settled();
  expect([store.state.past?.failure, shown()]).toEqual(['no connection', afterFailure]);
});

it('a range that could not be read is read again some seconds later, and stays until the reader is signed out', async () => {
  const { page, store, poll, settled, shown } = openPage();
  page.isDown = true;
  poll(0);
  await settled();
  page.isDown = false;
  const { asked } = page;
  poll(2_000);
  expect(page.asked).toBe(asked);
  poll(10_000);
  await settled();
  expect([store.state.past?.failure, shown()]).toEqual([undefined, [6, 1, 1]]);
  // It stays while the connection is lost, is not asked again for that, and is dropped on a 401.
  const { asked: before } = page;
  store.update((state) => withoutLive(state, LOST, 0));
  poll(2_000);
  expect([shown(), page.asked]).toEqual([[6, 1, 1], before]);
  store.update((state) => withoutLive(state, { kind: 'refused', status: 401, detail: '', retryAfterS: 0 }, 0));
  expect(store.state.past).toBeUndefined();
});
