/**
 * `d2/calls` and `d2/calls/slowest` beside 50 users over REST and Comet: each call with its user, its age, and how it
 * ended.
 */
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CallEntry } from '../../src/measure/record/running-calls.ts';
import type { SlowEntry } from '../../src/measure/record/slowest-calls.ts';
import { basic, Folder } from '../support/monitor/access/access-files.ts';
import { type Application, portOf, send as sendTo, startApplication } from '../support/net.ts';
import { type SidecarProcess, startSidecarBefore } from '../support/sidecar-process.ts';

const REST = '/smartWeb/api/rest/v0';
const COMET = '/smartWeb/api/cometd';
const USERS = 40;
const COMET_USERS = 10;
const SECRET = 'secret-of-users';
const WAIT = { timeout: 10_000, interval: 20 };

type Message = Readonly<Record<string, unknown>>;

type Entry = CallEntry & Partial<Pick<SlowEntry, 'endTime' | 'status' | 'outcome'>>;

const held = new Map<string, http.ServerResponse>();
const asked = new Map<string, AbortController>();
const beganMs = new Map<string, number>();
const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const folder = new Folder();
let upstream: Application;
let sidecar: SidecarProcess;

function toReply({ channel, id, clientId, ext }: Message): Message {
  const user = (ext as { authentication?: { user?: string } } | undefined)?.authentication?.user;
  if (channel === '/meta/handshake') return { channel, id, clientId: `client-id-of-${user}`, successful: true };
  return { channel, id, clientId, successful: true };
}

/** Resolves to the status, or to 0 when the connection has ended without an answer. */
async function send(target: string, user?: string, body = '', signal?: AbortSignal): Promise<number> {
  const headers = user === undefined ? {} : { authorization: basic(user, SECRET) };
  return await sendTo(portOf(sidecar.listen), target, { method: 'POST', agent, headers, body, signal }).then(
    ({ status }) => status,
    () => 0,
  );
}

const sendOverComet = (message: Message) => send(COMET, undefined, JSON.stringify([message]));

async function read(path: string): Promise<{ text: string; entries: readonly Entry[]; total: string | null }> {
  const answered = await fetch(`http://${sidecar.monitor}${REST}/admin/${path}`);
  const text = await answered.text();
  expect(answered.status).toBe(200);
  return { text, entries: JSON.parse(text) as Entry[], total: answered.headers.get('x-total-count') };
}

beforeAll(async () => {
  // Holds calls of `E.Hold.<number>`, acknowledges calls over Comet, answers everything else.
  upstream = await startApplication(({ url = '' }, response, body) => {
    const number = /E\.Hold\/(\d+)/.exec(url)?.[1];
    if (number !== undefined) held.set(`E.Hold.${number}`, response);
    else response.end(url.startsWith(COMET) ? JSON.stringify((JSON.parse(body) as Message[]).map(toReply)) : 'ok');
  });
  const file = folder.write('sidecar.yaml', 'calls:\n  slowest: 100\n');
  sidecar = await startSidecarBefore(upstream.port, {}, ['--config', file]);
});

afterAll(async () => {
  await sidecar?.stop('SIGKILL');
  agent.destroy();
  upstream.close();
  folder.remove();
});

const users = Array.from({ length: USERS }, (_, at) => ({ user: `user${at}`, name: `E.Hold.${at}` }));
const cometUsers = Array.from({ length: COMET_USERS }, (_, at) => ({ user: `comet${at}`, name: `E.Slow.Of${at}` }));

describe('50 users who wait for an answer', () => {
  let first: Awaited<ReturnType<typeof read>>;

  it('are listed with call, name, session and age, oldest first', async () => {
    for (const { user, name } of users) {
      expect(await send(`${REST}/d2/rpc/E.Demo/Login`, user)).toBe(200);
      const leaving = new AbortController();
      asked.set(name, leaving);
      beganMs.set(name, Date.now());
      void send(`${REST}/d2/rpc/E.Hold/${name.slice('E.Hold.'.length)}`, user, '', leaving.signal);
    }
    for (const { user, name } of cometUsers) {
      const ext = { authentication: { user, password: SECRET } };
      await sendOverComet({ channel: '/meta/handshake', id: '1', ext });
      const data = { eventName: 'E.Slow', rpcName: name.slice('E.Slow.'.length) };
      beganMs.set(name, Date.now());
      await sendOverComet({ channel: '/service/d2/rpc', id: '2', clientId: `client-id-of-${user}`, data });
    }
    await expect.poll(async () => (await read('d2/calls')).entries.length, WAIT).toBe(USERS + COMET_USERS);
    const sentMs = Date.now();
    first = await read('d2/calls');
    expect(first.total).toBe(String(USERS + COMET_USERS));
    const expected = [...users, ...cometUsers].map(({ user, name }) => [name, user]).sort();
    expect(first.entries.map(({ name, userName }) => [name, userName]).sort()).toEqual(expected);
    const sessions = (await read('d2/sessions')).entries as unknown as { id: string; userName: string }[];
    const idOf = new Map(sessions.map(({ id, userName }) => [userName, id]));
    for (const { name, userName, startTime, duration, ...entry } of first.entries) {
      const connectionType = name.startsWith('E.Hold') ? 'REST' : 'COMET_LONG_POLLING';
      const sessionId = idOf.get(userName ?? '');
      expect(entry).toEqual({ kind: 'rpc', remoteAddress: '127.0.0.1', connectionType, sessionId });
      const began = beganMs.get(name) ?? 0;
      // The call began after it was sent, so it is not older; clocks of two processes differ by some ms.
      expect(Date.parse(startTime)).toBeGreaterThanOrEqual(began - 20);
      expect(duration * 1_000).toBeLessThanOrEqual(Date.now() - began + 20);
      expect(duration * 1_000).toBeGreaterThanOrEqual(sentMs - Date.parse(startTime) - 20);
    }
    const starts = first.entries.map(({ startTime }) => startTime);
    expect(starts).toEqual([...starts].sort());
  });

  it('are the same after a reload', async () => {
    folder.write('sidecar.yaml', 'calls:\n  slowest: 60\n');
    process.kill(sidecar.pid, 'SIGHUP');
    await expect.poll(() => sidecar.logs.some(({ msg }) => msg === 'the configuration was reloaded'), WAIT).toBe(true);
    const namesIn = ({ entries }: typeof first) => entries.map(({ name }) => name);
    expect(namesIn(await read('d2/calls'))).toEqual(namesIn(first));
  });

  it('leave the list as their calls end, and are among the slowest with their outcome', async () => {
    const part = (from: number, to: number) => users.slice(from, to).map(({ name }) => name);
    for (const name of part(0, 10)) asked.get(name)?.abort();
    for (const name of part(10, 20)) held.get(name)?.destroy();
    for (const name of part(20, 30)) held.get(name)?.end('ok');
    for (const name of part(30, 35)) held.get(name)?.writeHead(500).end();
    for (const name of part(35, 40)) held.get(name)?.writeHead(404).end();
    await expect.poll(async () => (await read('d2/calls')).entries.length, WAIT).toBe(COMET_USERS);
    const { entries, text } = await read('d2/calls/slowest');
    const ofUsers = entries.filter(({ name }) => name.startsWith('E.Hold.'));
    const outcomes = new Map(ofUsers.map(({ name, outcome, status }) => [name, `${outcome} ${status}`]));
    expect(users.map(({ name }) => outcomes.get(name))).toEqual([
      ...Array(10).fill('aborted null'),
      ...Array(10).fill('unanswered null'),
      ...Array(10).fill('ok 200'),
      ...Array(5).fill('error 500'),
      ...Array(5).fill('client_error 404'),
    ]);
    for (const { name, userName } of ofUsers) expect(users).toContainEqual({ user: userName, name });
    const durations = entries.map(({ duration }) => duration);
    expect(durations).toEqual([...durations].sort((a, b) => b - a));
    // The logins of all users were calls, too; 60 are kept.
    expect(entries).toHaveLength(60);
    for (const { startTime, endTime = '', duration } of entries) {
      expect(Math.abs(Date.parse(endTime) - Date.parse(startTime) - duration * 1_000)).toBeLessThan(20);
    }
    const secrets = new RegExp(`${SECRET}|client-id-of|${basic('user0', SECRET).slice('Basic '.length)}`);
    expect(text + first.text).not.toMatch(secrets);
  });

  it('over Comet leave with their client', async () => {
    for (const { user } of cometUsers) {
      await sendOverComet({ channel: '/meta/disconnect', id: '3', clientId: `client-id-of-${user}` });
    }
    await expect.poll(async () => (await read('d2/calls')).total, WAIT).toBe('0');
  });
});
