/** The sidecar in front of a real Tomcat, with real clients: its counts must equal what the clients sent, and its durations what they experienced. */
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo } from '../support/deferred.ts';
import { type SidecarProcess, startConfigured } from '../support/sidecar-process.ts';
import {
  ALL_USERS,
  type AnsweredCall,
  BUSY,
  createPhases,
  STEADY,
  sendAtOnce,
  sendInOrder,
  USERS,
  type User,
} from '../support/tomcat/calls.ts';
import { hasTomcat, startTomcat } from '../support/tomcat/tomcat.ts';
import { below, type Counts, ExpectedCounts, type MetricsAnswer, toCounts } from './tomcat/expected-counts.ts';

const TOTAL = 1_000;
const REST = '/smartWeb/api/rest/v0/';
const PERCENTILE_ERROR = 0.01;

interface ListedSession {
  readonly id: string;
  readonly createTime: string;
  readonly userName: string | null;
  readonly lastActivityTime: string;
}

/** Endpoints with `?session=`, each with the statistics that it has. */
const OF_SESSION: readonly (readonly [path: string, prefix: string])[] = [
  ...[['/rpc', 'rpc'] as const, ['/sba', 'sba'] as const, ['/object', 'object'] as const],
  [`/rpc/${STEADY[0].name}`, `rpc.${STEADY[0].name}`],
  ['/rpc/E.Files.Upload', 'sba.E.Files.Upload'],
  ['/object/H.Temperature', 'object.H.Temperature'],
];

describe.runIf(hasTomcat())('a sidecar in front of a real Tomcat, after 1,000 calls of five users', () => {
  const defer = deferTo(afterAll);
  let sidecar: SidecarProcess;
  const answered: AnsweredCall[] = [];
  const expected = new ExpectedCounts();
  /** Read while all five users had a session: what was listed and counted, and what was expected. */
  const sessions = new Map<User, { listed: ListedSession; requests: number; counted: Counts[]; wanted: Counts[] }>();

  async function read<Shape>(path: string): Promise<{ status: number; body: Shape }> {
    const answer = await request(`http://${sidecar.monitor}${REST}admin/${path}`);
    return { status: answer.statusCode, body: (await answer.body.json()) as Shape };
  }

  async function metrics(path: string): Promise<MetricsAnswer> {
    const { status, body } = await read<MetricsAnswer>(`metrics/d2${path}`);
    expect(status, path).toBe(200);
    return body;
  }

  const listed = async () => (await read<ListedSession[]>('d2/sessions')).body;

  function take(calls: readonly AnsweredCall[]): void {
    answered.push(...calls);
    for (const call of calls) expected.add(call);
  }

  async function takeSessions(): Promise<void> {
    for (const session of await listed()) {
      const user = ALL_USERS.find(({ userName }) => userName === session.userName) as User;
      const countsAt = async (path: string) => toCounts(await metrics(`${path}?session=${session.id}`));
      const all = expected.session(user);
      const counted = [await countsAt('')];
      for (const [path] of OF_SESSION) counted.push(await countsAt(path));
      const wanted = [all, ...OF_SESSION.map(([, prefix]) => below(all, prefix))];
      sessions.set(user, { listed: session, requests: expected.requests(user), counted, wanted });
    }
  }

  beforeAll(async () => {
    const tomcat = await startTomcat(defer);
    const apiKeys = [{ user: 'dana', key: 'key-of-dana' }];
    sidecar = await startConfigured(defer, `http://127.0.0.1:${tomcat.port}/smartWeb`, { sessions: { apiKeys } });
    const base = `http://${sidecar.listen}${REST}`;
    const phases = createPhases(TOTAL, 10);
    take(await sendInOrder(base, phases.beginning));
    take(await sendAtOnce(base, phases.crowd));
    take(await sendInOrder(base, phases.steady));
    await takeSessions();
    take(await sendInOrder(base, phases.ending));
  }, 90_000);

  it('has passed every call on, with the status of Tomcat', () => {
    expect(answered).toHaveLength(TOTAL);
    for (const call of answered) expect([call.path, call.status]).toEqual([call.path, statusOf(call)]);
  });

  it('lists the sessions, oldest first, with their users and requests, and what each has sent (endpoints 1 to 9)', () => {
    const order = [...sessions.values()].map((session) => session.listed.userName);
    expect(order).toEqual(['anna', 'žofia', 'dana', null, 'bela']);
    for (const { listed: session, requests, counted, wanted } of sessions.values()) {
      expect(session).toMatchObject({ connectionType: 'REST', remoteAddress: '127.0.0.1', requests });
      expect(session.lastActivityTime >= session.createTime).toBe(true);
      expect(counted).toEqual(wanted);
    }
  });

  it.each([
    [2, '', ['sessions', 'rpc', 'sba', 'object']],
    [3, '/sessions', ['sessions']],
    [4, '/rpc', ['rpc']],
    [5, '/sba', ['sba']],
    [8, '/object', ['object']],
  ])('has counted what the clients sent, in total (endpoint %i)', async (_number, path, prefixes) => {
    expect(toCounts(await metrics(path))).toEqual(below(expected.global, ...prefixes));
  });

  it('answers each RPC, SBA and object by its name (endpoints 6, 7 and 9)', async () => {
    const names = new Map(answered.map((call) => [`${call.kind}.${call.name}`, call]));
    const known = [...names].filter(([name]) => Object.keys(below(expected.global, name)).length > 0);
    expect(known.length).toBeGreaterThanOrEqual(14);
    for (const [name, call] of known) {
      const path = call.kind === 'object' ? '/object/' : '/rpc/';
      const answer = await metrics(path + encodeURIComponent(call.name));
      expect(toCounts(answer)).toEqual(below(expected.global, name));
    }
    // All calls by these names were refused.
    expect((await read('metrics/d2/rpc/E.Demo.NoSuchMethod')).status).toBe(404);
    expect((await read('metrics/d2/object/nothing')).status).toBe(404);
  });

  it('forgets the session of a user who logged out', async () => {
    const { id } = sessions.get(USERS.dana)!.listed;
    expect((await read(`metrics/d2?session=${id}`)).status).toBe(404);
    expect((await listed()).map(({ userName }) => userName)).toEqual(['anna', 'žofia', null, 'bela']);
  });

  // Clients also wait for the processor, which only they can see: so bounds, no tolerance.
  it.each([
    // Refused calls count by their name once an accepted one has made it known, as it is in the crowd.
    { ...STEADY[0], least: 60, serverS: 0.02, statuses: [200] },
    { ...STEADY[1], least: 60, serverS: 0, statuses: [200] },
    { ...BUSY, least: 151, serverS: 0.008, statuses: [200, 401, 404, 500] },
  ])('has measured no call of $name as shorter than the server took, or longer than its client waited', async (row) => {
    const { kind, name, least, serverS, statuses } = row;
    const calls = answered.filter((call) => call.name === name && statuses.includes(call.status));
    const seen = calls.map((call) => call.seconds);
    expect(seen.length).toBeGreaterThanOrEqual(least);
    const timer = (await metrics(`/rpc/${encodeURIComponent(name)}`)).timers[`${kind}.${name}`]!;
    expect(timer.count).toBe(seen.length);
    expect(timer.p50).toBeGreaterThanOrEqual(serverS * (1 - PERCENTILE_ERROR));
    expect(timer.p50).toBeLessThanOrEqual(median(seen) * (1 + PERCENTILE_ERROR));
    expect(timer.max).toBeLessThanOrEqual(Math.max(...seen) * (1 + PERCENTILE_ERROR));
  });

  it('shows the JVM of that Tomcat, found by its port; 13 is exactly the union of 10, 11 and 12', async () => {
    const ask = async (path: string) => {
      const { statusCode, headers, body } = await request(`http://${sidecar.monitor}${REST}admin/metrics/jvm${path}`);
      expect(statusCode).toBe(200);
      expect(headers['metrics-source']).toMatch(/^hsperfdata(?:\+attach)?; memory=(?:live|after-gc)$/);
      expect(Number(headers.age)).toBeLessThan(15);
      return ((await body.json()) as MetricsAnswer).gauges;
    };
    // A refresh may fall between two of the four answers, at most once in 5 s.
    const differences = async () => {
      const parts = await Promise.all(['/classloader', '/memory', '/garbagecollector'].map(ask));
      const [union, all] = [Object.assign({}, ...parts) as MetricsAnswer['gauges'], await ask('')];
      return [...new Set([...Object.keys(union), ...Object.keys(all)])].filter(
        (name) => union[name]?.value !== all[name]?.value,
      );
    };
    await expect.poll(differences).toEqual([]);
    const gauges = await ask('');
    expect(gauges['jvm.classloader.loaded']?.value).toBeGreaterThan(1_000);
    expect(gauges['jvm.memory.heap.used']?.value).toBeGreaterThan(1_000_000);
  });

  it('exits with 0 on SIGTERM, without having logged a warning', async () => {
    expect(await sidecar.stop('SIGTERM')).toBe(0);
    expect(sidecar.logs.filter((line) => line.level !== 'info')).toEqual([]);
    expect(sidecar.stderr()).toBe('');
  });
});

function statusOf(call: AnsweredCall): number {
  if (call.hasWrongSecret) return call.user.key === undefined ? 401 : 404;
  if (call.name.endsWith('.Fail') || call.name === 'H.Broken') return 500;
  return call.name.endsWith('.NoSuchMethod') || call.name === 'nothing' ? 404 : 200;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
