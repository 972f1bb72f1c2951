/**
 * The sidecar in front of a real Tomcat, with real clients: its counts must equal what the clients sent, and its
 * durations what they experienced. Needs Debian's `tomcat10`.
 */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isAvailable } from '../support/programs.ts';
import { type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { ALL_USERS, BUSY, createPhases, STEADY, USERS, type User } from '../support/tomcat/calls.ts';
import { type AnsweredCall, Clients, isCurlInstalled } from '../support/tomcat/clients.ts';
import { isTomcatInstalled, startTomcat, type Tomcat } from '../support/tomcat/tomcat.ts';
import { below, type Counts, ExpectedCounts } from './tomcat/expected-counts.ts';

const TOTAL = 1_000;
const REST = '/smartWeb/api/rest/v0/';
const TOLERANCE_S = 0.005;
/** Error of percentiles by the contract, as a share of the value. */
const PERCENTILE_ERROR = 0.01;

const isInstalled = isAvailable('Tomcat', isTomcatInstalled()) && isAvailable('curl', isCurlInstalled());

/** The compared part of a metrics answer. */
interface MetricsAnswer {
  readonly gauges: Record<string, { value: number }>;
  readonly counters: Record<string, { count: number }>;
  readonly meters: Record<string, { count: number }>;
  readonly timers: Record<string, { count: number; p50: number; min: number; max: number }>;
}

interface ListedSession {
  readonly id: string;
  readonly createTime: string;
  readonly userName: string | null;
  readonly connectionType: string;
  readonly lastActivityTime: string;
  readonly remoteAddress: string;
  readonly requests: number;
}

describe.runIf(isInstalled)('a sidecar in front of a real Tomcat, after 1,000 calls of five users', () => {
  let tomcat: Tomcat;
  let sidecar: SidecarProcess;
  let clients: Clients;
  let folder: string;
  const answered: AnsweredCall[] = [];
  const expected = new ExpectedCounts();
  /** Read while all five users had a session. */
  const sessions = new Map<
    User,
    { listed: ListedSession; requests: number; counts: Counts; answers: SessionAnswers }
  >();
  let order: readonly (string | null)[];

  interface SessionAnswers {
    readonly all: MetricsAnswer;
    readonly rpc: MetricsAnswer;
    readonly sba: MetricsAnswer;
    readonly object: MetricsAnswer;
    readonly steady: MetricsAnswer;
    readonly upload: MetricsAnswer;
    readonly temperature: MetricsAnswer;
  }

  async function read(path: string): Promise<{ status: number; body: unknown }> {
    const answer = await request(`http://${sidecar.monitor}${REST}admin/${path}`, {
      headers: { 'content-type': 'application/json' },
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  }

  async function metrics(path: string): Promise<MetricsAnswer> {
    const answer = await read(`metrics/d2${path}`);
    expect(answer.status, path).toBe(200);
    return answer.body as MetricsAnswer;
  }

  async function run(phase: Parameters<Clients['run']>[0]): Promise<void> {
    for (const call of await clients.run(phase)) {
      answered.push(call);
      expected.add(call);
    }
  }

  async function takeSessions(): Promise<void> {
    const list = (await read('d2/sessions')).body as ListedSession[];
    order = list.map((listed) => listed.userName);
    for (const listed of list) {
      const user = ALL_USERS.find((candidate) => candidate.userName === listed.userName) as User;
      const of = (path: string) => metrics(`${path}?session=${listed.id}`);
      const answers = {
        all: await of(''),
        rpc: await of('/rpc'),
        sba: await of('/sba'),
        object: await of('/object'),
        steady: await of(`/rpc/${STEADY[0].name}`),
        upload: await of('/rpc/E.Files.Upload'),
        temperature: await of('/object/H.Temperature'),
      };
      sessions.set(user, { listed, requests: expected.requests(user), counts: expected.session(user), answers });
    }
  }

  beforeAll(async () => {
    tomcat = await startTomcat();
    folder = await mkdtemp(join(tmpdir(), 'd2s-tomcat-test-'));
    const config = join(folder, 'sidecar.yaml');
    await writeFile(config, 'sessions:\n  apiKeys:\n    - user: dana\n      key: key-of-dana\n');
    const upstream = `http://127.0.0.1:${tomcat.port}/smartWeb`;
    const flags = ['--upstream', upstream, '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0', '--config', config];
    sidecar = await startSidecarProcess(flags);
    clients = new Clients(`http://${sidecar.listen}`, REST);
    const phases = createPhases(TOTAL, 10);
    await run(phases.beginning);
    await run(phases.crowd);
    await run(phases.steady);
    await takeSessions();
    await run(phases.ending);
  }, 90_000);

  afterAll(async () => {
    await clients?.close();
    await sidecar?.stop();
    await tomcat?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  it('has passed every call on, with the status of Tomcat', () => {
    expect(answered).toHaveLength(TOTAL);
    expect(answered.filter((call) => call.client === 'curl').length).toBeGreaterThanOrEqual(50);
    for (const call of answered) expect([call.path, call.status]).toEqual([call.path, statusOf(call)]);
  });

  it('lists the sessions, oldest first, with their users and requests (endpoint 1)', () => {
    expect(order).toEqual(['anna', 'žofia', 'dana', null, 'bela']);
    for (const { listed, requests } of sessions.values()) {
      expect(listed).toMatchObject({ connectionType: 'REST', remoteAddress: '127.0.0.1', requests });
      expect(listed.lastActivityTime >= listed.createTime).toBe(true);
    }
  });

  it('has counted what the clients sent, in total (endpoint 2)', async () => {
    expect(toCounts(await metrics(''))).toEqual(expected.global);
  });

  it.each([
    [3, '/sessions', ['sessions']],
    [4, '/rpc', ['rpc']],
    [5, '/sba', ['sba']],
    [8, '/object', ['object']],
  ] as const)('has counted what the clients sent, in total (endpoint %i)', async (_number, path, prefixes) => {
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
  });

  it('lists no name whose calls were all refused', async () => {
    expect((await read('metrics/d2/rpc/E.Demo.NoSuchMethod')).status).toBe(404);
    expect((await read('metrics/d2/object/nothing')).status).toBe(404);
  });

  it('has counted for each session what its user sent (endpoints 2, 4 to 9 with ?session=)', () => {
    expect(sessions.size).toBe(ALL_USERS.length);
    for (const { counts, answers } of sessions.values()) {
      expect(toCounts(answers.all)).toEqual(counts);
      expect(toCounts(answers.rpc)).toEqual(below(counts, 'rpc'));
      expect(toCounts(answers.sba)).toEqual(below(counts, 'sba'));
      expect(toCounts(answers.object)).toEqual(below(counts, 'object'));
      expect(toCounts(answers.steady)).toEqual(below(counts, `rpc.${STEADY[0].name}`));
      expect(toCounts(answers.upload)).toEqual(below(counts, 'sba.E.Files.Upload'));
      expect(toCounts(answers.temperature)).toEqual(below(counts, 'object.H.Temperature'));
    }
  });

  it('forgets the session of a user who logged out', async () => {
    const { listed } = sessions.get(USERS.dana)!;
    expect((await read(`metrics/d2?session=${listed.id}`)).status).toBe(404);
    const left = (await read('d2/sessions')).body as ListedSession[];
    expect(left.map((session) => session.userName)).toEqual(['anna', 'žofia', null, 'bela']);
  });

  it.each(STEADY)('has measured $name within 5 ms of what the clients saw, at the median', async ({ kind, name }) => {
    const seen = answered.filter((call) => call.name === name && call.status === 200).map((call) => call.seconds);
    expect(seen.length).toBeGreaterThanOrEqual(60);
    const timer = (await metrics(`/rpc/${name}`)).timers[`${kind}.${name}`]!;
    expect(timer.count).toBe(seen.length);
    expect(Math.abs(median(seen) - timer.p50)).toBeLessThan(TOLERANCE_S);
  });

  it('has measured no call of the crowd as shorter than the server took, or longer than its client waited', async () => {
    // With many clients on few cores, clients also wait for the processor, which only they can see: so bounds, no tolerance.
    const seen = answered.filter((call) => call.name === BUSY.name).map((call) => call.seconds);
    expect(seen.length).toBeGreaterThan(150);
    const timer = (await metrics(`/rpc/${encodeURIComponent(BUSY.name)}`)).timers[`rpc.${BUSY.name}`]!;
    expect(timer.count).toBe(seen.length);
    expect(timer.p50).toBeGreaterThanOrEqual(0.008 * (1 - PERCENTILE_ERROR));
    expect(timer.p50).toBeLessThanOrEqual(median(seen) * (1 + PERCENTILE_ERROR));
    expect(timer.max).toBeLessThanOrEqual(Math.max(...seen) * (1 + PERCENTILE_ERROR));
  });

  it('shows the JVM of that Tomcat, found by its port; 13 is exactly the union of 10, 11 and 12', async () => {
    const ask = async (path: string) => {
      const { statusCode, headers, body } = await request(
        `http://${sidecar.monitor}/smartWeb/api/rest/v0/admin/metrics/jvm${path}`,
      );
      expect(statusCode).toBe(200);
      expect(headers['metrics-source']).toMatch(/^hsperfdata(?:\+attach)?; memory=(?:live|after-gc)$/);
      expect(Number(headers.age)).toBeLessThan(15);
      return Object.entries(((await body.json()) as MetricsAnswer).gauges);
    };
    const take = async () => ({
      parts: (await Promise.all(['/classloader', '/memory', '/garbagecollector'].map(ask))).flat(),
      all: await ask(''),
    });
    // A refresh may fall between two of the four answers, at most once in 5 s.
    await expect
      .poll(async () => {
        const { parts, all } = await take();
        return JSON.stringify(parts.sort()) === JSON.stringify(all.sort());
      })
      .toBe(true);
    const gauges = Object.fromEntries((await take()).all);
    expect(gauges['jvm.classloader.loaded']?.value).toBeGreaterThan(1_000);
    expect(gauges['jvm.memory.heap.used']?.value).toBeGreaterThan(1_000_000);
  });

  it('exits with 0 on SIGTERM, without having logged a warning', async () => {
    expect(await sidecar.stop('SIGTERM')).toBe(0);
    expect(sidecar.logs.filter((line) => line.level !== 'info')).toEqual([]);
    expect(sidecar.stderr()).toBe('');
  });
});

/** The answers of the web application. */
function statusOf(call: AnsweredCall): number {
  if (call.hasWrongSecret) return call.user.credentials.kind === 'basic' ? 401 : 404;
  if (call.name.endsWith('.Fail') || call.name === 'H.Broken') return 500;
  return call.name.endsWith('.NoSuchMethod') || call.name === 'nothing' ? 404 : 200;
}

/** Every count, by its name. */
function toCounts(answer: MetricsAnswer): Counts {
  const counts: Record<string, number> = {};
  for (const [name, gauge] of Object.entries(answer.gauges)) counts[name] = gauge.value;
  for (const [name, item] of [answer.counters, answer.meters, answer.timers].flatMap(Object.entries)) {
    counts[name] = (item as { count: number }).count;
  }
  return counts;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] as number;
}
