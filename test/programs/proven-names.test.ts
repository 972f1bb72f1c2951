/**
 * Another user's name beside an accepted login, on a real Tomcat that caches principals in its sessions: it accepts the login
 * cookie and ignores the password. Needs Debian's `tomcat10`.
 */

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import http, { type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { isAvailable } from '../support/programs.ts';
import { type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { isTomcatInstalled, startTomcat, type Tomcat } from '../support/tomcat/tomcat.ts';

const isInstalled = isAvailable('Tomcat', isTomcatInstalled());

const WEBAPP = fileURLToPath(new URL('../support/tomcat/cached-webapp', import.meta.url));
const BASE = '/smartWeb/api/rest/v0';
const RPC = `POST ${BASE}/d2/rpc/E.Demo/TestInOut`;
const LOGOUT = `GET ${BASE}/d2/auth/logout`;
const HANDSHAKE = 'POST /smartWeb/api/cometd/handshake';
const MAX_SESSIONS = 100;

type Fields = readonly string[];
type DataPath = 'relay' | 'gateway';

interface Answer {
  readonly status: number;
  /** The user that Tomcat has authenticated. */
  readonly user: string | undefined;
  readonly cookie: string | undefined;
}

interface Listed {
  readonly id: string;
  readonly userName: string | null;
  readonly connectionType: string;
  readonly lastActivityTime: string;
  readonly requests: number;
  readonly verified?: false;
}

interface AnnasSession {
  readonly entry: Omit<Listed, 'lastActivityTime'>;
  readonly counts: readonly (readonly [name: string, count: number])[];
  readonly activeMs: number;
}

const basic = (user: string, password: string): Fields => [
  ...['Authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`],
];
const ANNA = basic('anna', 'word of anna');
const WRONG = basic('anna', 'wrong');
const BELA = basic('bela', 'word:of:bela');

describe.runIf(isInstalled)('a sidecar in front of a Tomcat with cached principals', () => {
  let tomcat: Tomcat;
  let sidecar: SidecarProcess;
  let folder: string;
  /** Login cookies set by Tomcat. */
  let ofAnna = '';
  let ofBela = '';
  /** Each test has an address of its own, since the number of sessions begun by an address in a minute is limited. */
  let hostOfTest = 1;

  /** The gateway handles absolute-form targets, the relay all others. */
  async function send(path: DataPath, line: string, fields: Fields, body = ''): Promise<Answer> {
    const [method = '', target = ''] = line.split(' ');
    const [host, port] = sidecar.listen.split(':');
    const head = ['Host', sidecar.listen, 'Content-Type', 'application/json', 'Content-Length', `${body.length}`];
    const sent = http.request({
      ...{ host, port, method, agent: false, localAddress: `127.0.0.${hostOfTest}`, headers: [...head, ...fields] },
      path: path === 'gateway' ? `http://${sidecar.listen}${target}` : target,
    });
    sent.end(body);
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    answer.resume();
    await once(answer, 'close');
    const user = answer.headers['x-user'];
    const cookie = /^JSESSIONID=([^;]+)/.exec(answer.headers['set-cookie']?.[0] ?? '')?.[1];
    return { status: answer.statusCode ?? 0, user: typeof user === 'string' ? user : undefined, cookie };
  }

  async function read<Shape>(path: string): Promise<Shape> {
    const answer = await request(`http://${sidecar.monitor}${BASE}/admin/${path}`);
    return (await answer.body.json()) as Shape;
  }

  async function sessions(): Promise<readonly Listed[]> {
    return read<Listed[]>('d2/sessions');
  }

  async function claims(): Promise<readonly Listed[]> {
    return (await sessions()).filter(({ connectionType, verified }) => connectionType === 'REST' && verified === false);
  }

  /** Anna's sessions, each with its counts. */
  async function annas(): Promise<readonly AnnasSession[]> {
    const list = (await sessions()).filter(({ userName, verified }) => userName === 'anna' && verified === undefined);
    return Promise.all(
      list.map(async ({ lastActivityTime, ...entry }) => {
        const { timers, meters } = await read<Record<string, Record<string, { count: number }>>>(
          `metrics/d2?session=${entry.id}`,
        );
        const counts = Object.entries({ ...timers, ...meters }).map(([name, { count }]) => [name, count] as const);
        return { entry, counts, activeMs: Date.parse(lastActivityTime) };
      }),
    );
  }

  async function expectUntouched(before: readonly AnnasSession[]): Promise<void> {
    await settled();
    // The displayed wall clock time is computed from the monotonic clock: its last digit varies.
    const expected = before.map((each) => ({
      ...each,
      activeMs: expect.toSatisfy((ms) => Math.abs(ms - each.activeMs) < 5),
    }));
    expect(await annas()).toEqual(expected);
  }

  /** A call is counted when its last byte has passed, which its client may see first; later calls are counted later. */
  async function settled(): Promise<void> {
    const name = 'rpc.E.Demo.Settle';
    const counted = async () => {
      const { timers } = await read<{ timers: Record<string, { count: number }> }>('metrics/d2/rpc');
      return timers[name]?.count ?? 0;
    };
    const before = await counted();
    await send('relay', `POST ${BASE}/d2/rpc/E.Demo/Settle`, BELA);
    await vi.waitFor(async () => expect(await counted()).toBe(before + 1), { timeout: 5_000 });
  }

  beforeAll(async () => {
    tomcat = await startTomcat({ webapp: WEBAPP, context: 'smartWeb' });
    folder = await mkdtemp(join(tmpdir(), 'd2s-proven-names-'));
    const config = join(folder, 'sidecar.yaml');
    await writeFile(config, `sessions:\n  max: ${MAX_SESSIONS}\n  apiKeys:\n    - { user: anna, key: key-of-anna }\n`);
    const upstream = `http://127.0.0.1:${tomcat.port}/smartWeb`;
    const flags = ['--upstream', upstream, '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0', '--config', config];
    sidecar = await startSidecarProcess(flags);
    const [first, second] = [await send('relay', RPC, ANNA), await send('relay', RPC, BELA)];
    expect([first.user, second.user]).toEqual(['anna', 'bela']);
    ofAnna = first.cookie ?? '';
    ofBela = second.cookie ?? '';
    expect([ofAnna, ofBela]).toEqual([expect.stringMatching(/^\w+$/), expect.stringMatching(/^\w+$/)]);
    await send('relay', RPC, ['X-API-Key', 'key-of-anna']);
    await settled();
  }, 90_000);

  beforeEach(() => {
    hostOfTest += 1;
  });

  afterAll(async () => {
    await sidecar?.stop();
    await tomcat?.stop();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  });

  /** Ways to present béla's login, all of which Tomcat accepts. */
  const logins: [string, (line: string) => readonly [line: string, fields: Fields]][] = [
    ['a cookie', (line) => [line, ['Cookie', `JSESSIONID=${ofBela}`]]],
    ['a quoted cookie', (line) => [line, ['Cookie', `JSESSIONID="${ofBela}"`]]],
    ['a second cookie', (line) => [line, ['Cookie', `JSESSIONID=none; JSESSIONID=${ofBela}`]]],
    ['a second line', (line) => [line, ['Cookie', 'lang=sk', 'Cookie', `JSESSIONID=${ofBela}`]]],
    ['a path parameter', (line) => [`${line};jsessionid=${ofBela}`, []]],
  ];
  const credentials: [string, Fields][] = [
    ['a wrong password of anna’s', WRONG],
    ['an unknown key', ['X-API-Key', 'random']],
    ['both', [...WRONG, 'X-API-Key', 'random']],
    ['nothing', []],
  ];
  const handshake = (user?: string) =>
    JSON.stringify([
      {
        ...{ channel: '/meta/handshake', id: '1', version: '1.0', supportedConnectionTypes: ['long-polling'] },
        ...(user === undefined ? {} : { ext: { authentication: { user } } }),
      },
    ]);

  for (const path of ['relay', 'gateway'] satisfies DataPath[]) {
    for (const [how, login] of logins) {
      for (const [what, credential] of credentials) {
        it(`${path}: béla’s login by ${how} with ${what} does not change anna’s sessions and numbers`, async () => {
          const before = await annas();
          expect(before).toHaveLength(2);
          const calls = async (...lines: (readonly [line: string, body?: string])[]) => {
            for (const [line, body] of lines) {
              const [target, fields] = login(line);
              const answer = await send(path, target, [...fields, ...credential], body);
              expect([answer.status, answer.user]).toEqual([200, 'bela']);
            }
          };
          await calls(
            [RPC],
            [`HEAD ${BASE}/d2/object/H.Level`],
            [HANDSHAKE, handshake('anna')],
            [HANDSHAKE, handshake()],
          );
          await settled();
          expect((await claims()).map(({ requests }) => requests)).toEqual(credential.length === 0 ? [] : [2]);
          await calls([LOGOUT]);
          await settled();
          expect(await claims()).toEqual([]);
          await expectUntouched(before);
        });
      }
    }

    it(`${path}: another user’s key with anna’s name and a wrong password does not change them`, async () => {
      const before = await annas();
      for (const line of [RPC, LOGOUT]) {
        const answer = await send(path, line, [...WRONG, 'X-API-Key', 'key-of-dana']);
        expect([answer.status, answer.user]).toEqual([200, 'dana']);
      }
      await expectUntouched(before);
    });

    it(`${path}: a wrong password or key alone is refused, and does not change them`, async () => {
      const before = await annas();
      for (const credential of [WRONG, ['X-API-Key', 'random']]) {
        expect((await send(path, RPC, credential)).status).toBe(401);
      }
      await expectUntouched(before);
    });

    it(`${path}: anna’s own password counts on her session, whichever cookie comes with it`, async () => {
      const requests = async () => (await sessions()).find(({ userName }) => userName === 'anna')?.requests ?? 0;
      const before = await requests();
      for (const cookie of [[], ['Cookie', `JSESSIONID=${ofAnna}`], ['Cookie', `JSESSIONID=${ofBela}`]]) {
        expect((await send(path, RPC, [...ANNA, ...cookie])).status).toBe(200);
      }
      await settled();
      expect(await requests()).toBe(before + 3);
    });
  }

  it('random keys on one login leave room for other sessions', async () => {
    for (let i = 0; i < 3 * MAX_SESSIONS; i += 1) {
      const answer = await send('relay', RPC, ['Cookie', `JSESSIONID=${ofBela}`, 'X-API-Key', `random-${i}`]);
      expect(answer.status).toBe(200);
    }
    await send('relay', RPC, basic('žofia', 'heslo žofie'));
    await settled();
    const list = await sessions();
    expect(await claims()).toHaveLength(8);
    expect(list.map(({ userName }) => userName)).toContain('žofia');
  }, 60_000);
});
