import { beforeEach, expect, it } from 'vitest';
import { BASE, CANCELLED, FAILED, LOGOUT, RPC, Traffic } from '../../../support/measure/record/traffic.ts';

let traffic: Traffic;
beforeEach(() => {
  traffic = new Traffic();
});

const NAME = 'rpc.E.Demo.TestInOut';

it('an answered call counts in the total and under its name, with its duration from the head to the last byte', () => {
  traffic.send({ line: RPC }, { afterMs: 25 });
  traffic.send({ line: RPC }, { afterMs: 5 });
  expect(traffic.counts()).toEqual({ rpc: 2, [NAME]: 2 });
  const { timers } = traffic.application().statistics.rpc.metrics();
  const durations = { count: 2, min: 5_000_000, max: 25_000_000, mean: 15_000_000 };
  for (const name of ['rpc', NAME]) expect(timers.get(name)?.snapshot()).toMatchObject(durations);
});

it('a call that the upstream did not answer is an error, not a duration, and creates no name', () => {
  traffic.send({ line: RPC }, { ending: FAILED });
  expect(traffic.counts()).toEqual({ 'rpc.errors': 1 });
  traffic.send({ line: RPC });
  // Whatever status it began with.
  traffic.send({ line: RPC }, { ending: FAILED, afterMs: 1_000, status: 200 });
  traffic.send({ line: `GET ${BASE}/d2/object/M.Level` }, { ending: FAILED, status: 200 });
  expect(traffic.counts()).toEqual({ rpc: 1, [NAME]: 1, 'rpc.errors': 2, [`${NAME}.errors`]: 1 });
  expect(traffic.recorder.own.unanswered).toEqual({ rpc: 2, sba: 0, object: 1, session: 0 });
});

it('a call whose client left is neither answered nor an error', () => {
  traffic.send({ line: RPC }, { ending: CANCELLED });
  traffic.send({ line: RPC }, { ending: CANCELLED, status: 200 });
  traffic.send({ line: `GET ${BASE}/d2/object/M.Level` }, { ending: CANCELLED, status: 200 });
  expect(traffic.counts()).toEqual({});
  expect(traffic.recorder.own.aborted).toEqual({ rpc: 2, sba: 0, object: 1, session: 0 });
});

it('what is no call counts in the sidecar’s own metrics only, with its ending', () => {
  traffic.send({ line: 'GET /smartWeb/index.html', user: 'anna' });
  traffic.send({ line: `GET ${BASE}/admin/metrics/d2`, user: 'anna' });
  traffic.send({ line: 'GET /other/api/rest/v0/d2/object/M.Level', user: 'anna' });
  traffic.send({ line: 'GET /smartWeb/socket' }, { ending: CANCELLED, status: 101 });
  traffic.send({ line: RPC }, { ending: FAILED });
  traffic.send({ line: RPC });
  expect(traffic.counts()).toEqual({ rpc: 1, [NAME]: 1, 'rpc.errors': 1 });
  expect(traffic.sessions()).toEqual([]);
  const { comet: _, added: __, ...numbers } = traffic.recorder.own;
  expect(numbers).toEqual({
    exchanges: { completed: 4, failed: 1, cancelled: 1, denied: 0 },
    badRequests: 0,
    aborted: { rpc: 0, sba: 0, object: 0, session: 0 },
    unanswered: { rpc: 1, sba: 0, object: 0, session: 0 },
    counts: { upgrades: 1, unclassified: 4, cometExchanges: 0 },
  });
});

it('HEAD counts as GET, but brings no value: a download is a call, a logout ends the session', () => {
  traffic.send({ line: `HEAD ${BASE}/d2/object/M.Level`, user: 'anna' });
  traffic.send({ line: `HEAD ${BASE}/d2/sba/E.Files/Download`, user: 'anna' });
  expect(traffic.counts()).toEqual({
    ...{ sba: 1, 'sba.E.Files.Download': 1 },
  });
  expect(traffic.onlySession().requests).toBe(2);
  traffic.send({ line: LOGOUT.replace('GET', 'HEAD'), user: 'anna' });
  expect(traffic.sessions()).toEqual([]);
});

it('applications are counted apart', () => {
  traffic = new Traffic({ applications: ['smartWeb', 'plant', ''] });
  for (const application of ['', '/plant', '/plant']) {
    traffic.send({ line: `GET ${application}/api/rest/v0/d2/object/M.A`, user: 'anna' });
  }
  const values = (name: string): number | undefined =>
    traffic.application(name).statistics.object.metrics().meters.get('object.newValues')?.count;
  expect([values('smartWeb'), values('plant'), values('')]).toEqual([0, 2, 1]);
  const requests = ['smartWeb', 'plant', ''].map((name) => traffic.sessions(name).map((session) => session.requests));
  expect(requests).toEqual([[], [2], [1]]);
});
