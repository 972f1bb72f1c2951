/** Another user's name beside an accepted login, on a real Tomcat, which then ignores the password. Needs Debian's `tomcat10`. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { deferTo } from '../support/deferred.ts';
import { basic as toBasic } from '../support/monitor/access/access-files.ts';
import { portOf, send } from '../support/net.ts';
import { jsonOf, type SidecarProcess, startConfigured } from '../support/sidecar-process.ts';
import { hasTomcat, startTomcat } from '../support/tomcat/tomcat.ts';

const WEBAPP = fileURLToPath(new URL('../support/tomcat/cached-webapp', import.meta.url));
const BASE = '/smartWeb/api/rest/v0';
const RPC = `POST ${BASE}/d2/rpc/E.Demo/TestInOut`;
const LOGOUT = `GET ${BASE}/d2/auth/logout`;
const HANDSHAKE = 'POST /smartWeb/api/cometd/handshake';

type Fields = readonly string[];
type Counted = Readonly<Record<string, { readonly count: number }>>;

interface Listed {
  readonly id: string;
  readonly userName: string | null;
  readonly connectionType: string;
  readonly lastActivityTime: string;
  readonly requests: number;
  readonly verified?: false;
}

const basic = (user: string, password: string): Fields => ['Authorization', toBasic(user, password)];
const ANNA = basic('anna', 'word of anna');
const WRONG = basic('anna', 'wrong');
const BELA = basic('bela', 'word:of:bela');

describe.runIf(hasTomcat())('a sidecar in front of a Tomcat with cached principals', () => {
  const defer = deferTo(afterAll);
  let origin: string;
  let sidecar: SidecarProcess;
  let ofBela = '';
  /** Each test has an address of its own, since the number of sessions begun by an address in a minute is limited. */
  let hostOfTest = 1;

  /** Returns the user that Tomcat has authenticated as well. */
  async function call(line: string, fields: Fields, body = '', { listen } = sidecar) {
    const [method = '', target = ''] = line.split(' ');
    const head = ['Host', listen, 'Content-Type', 'application/json', 'Content-Length', `${body.length}`];
    const { status, headers } = await send(portOf(listen), target, {
      method,
      body,
      localAddress: `127.0.0.${hostOfTest}`,
      headers: [...head, ...fields],
    });
    const cookie = /^JSESSIONID=([^;]+)/.exec(headers['set-cookie']?.[0] ?? '')?.[1];
    return { status, user: headers['x-user'], cookie };
  }

  const read = <Shape>(path: string) => jsonOf<Shape>(`http://${sidecar.monitor}${BASE}/admin/${path}`);
  const sessions = () => read<readonly Listed[]>('d2/sessions');
  const claims = async () =>
    (await sessions()).filter(({ connectionType, verified }) => connectionType === 'REST' && verified === false);

  async function annas() {
    const list = (await sessions()).filter(({ userName, verified }) => userName === 'anna' && verified === undefined);
    const withCounts = list.map(async ({ lastActivityTime, ...entry }) => {
      const { timers, meters } = await read<Record<string, Counted>>(`metrics/d2?session=${entry.id}`);
      const counts = Object.entries({ ...timers, ...meters }).map(([name, { count }]) => [name, count] as const);
      return { entry, counts, activeMs: Date.parse(lastActivityTime) };
    });
    return await Promise.all(withCounts);
  }

  /** Whether the calls in between leave anna's sessions and numbers as they were. */
  async function expectUntouchedBy(calls: () => Promise<void>): Promise<void> {
    const before = await annas();
    expect(before).toHaveLength(2);
    await calls();
    await settled();
    // The displayed wall clock time is computed from the monotonic clock: its last digit varies.
    const isAbout = (activeMs: number) => expect.toSatisfy((ms) => Math.abs(ms - activeMs) < 5);
    expect(await annas()).toEqual(before.map((each) => ({ ...each, activeMs: isAbout(each.activeMs) })));
  }

  /** A call is counted when its last byte has passed, which its client may see first; later calls are counted later. */
  async function settled(): Promise<void> {
    const counted = async () =>
      (await read<{ timers: Counted }>('metrics/d2/rpc')).timers['rpc.E.Demo.Settle']?.count ?? 0;
    const before = await counted();
    await call(`POST ${BASE}/d2/rpc/E.Demo/Settle`, BELA);
    await vi.waitFor(async () => expect(await counted()).toBe(before + 1), { timeout: 5_000 });
  }

  beforeAll(async () => {
    const tomcat = await startTomcat(defer, { webapp: WEBAPP, context: 'smartWeb' });
    origin = `http://127.0.0.1:${tomcat.port}/smartWeb`;
    sidecar = await startConfigured(defer, origin, { sessions: { apiKeys: [{ user: 'anna', key: 'key-of-anna' }] } });
    const [first, second] = [await call(RPC, ANNA), await call(RPC, BELA)];
    expect([first.user, second.user]).toEqual(['anna', 'bela']);
    ofBela = second.cookie ?? '';
    expect(ofBela).toMatch(/^\w+$/);
    await call(RPC, ['X-API-Key', 'key-of-anna']);
    await settled();
  }, 90_000);

  beforeEach(() => {
    hostOfTest += 1;
  });

  /** Ways to present béla's login, all of which Tomcat accepts. */
  const logins: [string, (line: string) => readonly [line: string, fields: Fields]][] = [
    ['a cookie', (line) => [line, ['Cookie', `JSESSIONID=${ofBela}`]]],
    ['a second cookie', (line) => [line, ['Cookie', `JSESSIONID=none; JSESSIONID=${ofBela}`]]],
    ['a path parameter', (line) => [`${line};jsessionid=${ofBela}`, []]],
  ];
  const credentials: [string, Fields][] = [
    ['a wrong password of anna’s', WRONG],
    ['an unknown key', ['X-API-Key', 'random']],
    ['both', [...WRONG, 'X-API-Key', 'random']],
    ['nothing', []],
  ];
  const handshake = (authentication: object) => {
    const message = { channel: '/meta/handshake', id: '1', version: '1.0', supportedConnectionTypes: ['long-polling'] };
    return JSON.stringify([{ ...message, ext: { authentication } }]);
  };

  const ways = logins.flatMap(([how, login]) => credentials.map((credential) => [how, ...credential, login] as const));

  it.each(ways)('béla’s login by %s with %s does not change anna’s sessions and numbers', async (...way) => {
    const [, , credential, login] = way;
    const callAsBela = async (line: string, body?: string) => {
      const [target, fields] = login(line);
      const answer = await call(target, [...fields, ...credential], body);
      expect([answer.status, answer.user]).toEqual([200, 'bela']);
    };
    await expectUntouchedBy(async () => {
      await callAsBela(RPC);
      await callAsBela(`HEAD ${BASE}/d2/object/H.Level`);
      await callAsBela(HANDSHAKE, handshake({ user: 'anna' }));
      await callAsBela(HANDSHAKE, handshake({}));
      await settled();
      expect((await claims()).map(({ requests }) => requests)).toEqual(credential.length === 0 ? [] : [2]);
      await callAsBela(LOGOUT);
      await settled();
      expect(await claims()).toEqual([]);
    });
  });

  it('another user’s key with anna’s name and a wrong password does not change them', () =>
    expectUntouchedBy(async () => {
      for (const line of [RPC, LOGOUT]) {
        const answer = await call(line, [...WRONG, 'X-API-Key', 'key-of-dana']);
        expect([answer.status, answer.user]).toEqual([200, 'dana']);
      }
    }));

  it('a login cookie alone has a session of the user that the server tells, with sessions.userField', async () => {
    const told = await startConfigured(defer, origin, { sessions: { userField: 'X-User' } });
    const cookie = ['Cookie', `JSESSIONID=${ofBela}`];
    for (let i = 0; i < 2; i += 1) {
      expect(await call(RPC, cookie, '', told)).toMatchObject({ status: 200, user: 'bela' });
    }
    const list = () => jsonOf(`http://${told.monitor}${BASE}/admin/d2/sessions`);
    const session = { userName: 'bela', connectionType: 'REST', requests: 2 };
    await expect.poll(list).toEqual([expect.objectContaining(session)]);
    expect(await list()).not.toEqual([expect.objectContaining({ verified: false })]);
  });
});
