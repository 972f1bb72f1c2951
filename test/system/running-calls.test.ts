/** `d2/calls` and `d2/calls/slowest` beside 50 users over REST and Comet: who waits for what, since when, and how it ended. */
import { writeFileSync } from 'node:fs';
import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Folder } from '../support/monitor/access/access-files.ts';
import { listening } from '../support/net.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';

const REST = '/smartWeb/api/rest/v0';
const COMET = '/smartWeb/api/cometd';
const USERS = 40;
const COMET_USERS = 10;
const SECRET = 'secret-of-users';
const WAIT = { timeout: 10_000, interval: 20 };

type Message = Readonly<Record<string, unknown>>;

interface Entry {
  readonly kind: string;
  readonly name: string;
  readonly sessionId: string | null;
  readonly userName: string | null;
  readonly connectionType: string;
  readonly remoteAddress: string;
  readonly startTime: string;
  readonly duration: number;
  readonly endTime?: string;
  readonly status?: number | null;
  readonly outcome?: string;
}

const held = new Map<string, http.ServerResponse>();
const asked = new Map<string, http.ClientRequest>();
const beganMs = new Map<string, number>();
const agent = new http.Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const folder = new Folder();
let upstream: http.Server;
let sidecar: SidecarProcess;

/** Holds calls of `E.Hold.<number>`, acknowledges calls over Comet, answers everything else. */
function answer(request: http.IncomingMessage, response: http.ServerResponse, body: string): void {
  const target = request.url ?? '';
  const number = /E\.Hold\/(\d+)/.exec(target)?.[1];
  if (number !== undefined) held.set(`E.Hold.${number}`, response);
  else if (target.startsWith(COMET)) response.end(JSON.stringify((JSON.parse(body) as Message[]).map(toReply)));
  else response.end('ok');
}

function toReply({ channel, id, clientId, ext }: Message): Message {
  const user = (ext as { authentication?: { user?: string } } | undefined)?.authentication?.user;
  if (channel === '/meta/handshake') return { channel, id, clientId: `client-id-of-${user}`, successful: true };
  return { channel, id, clientId, successful: true };
}

/** Resolves when the answer has come, or the connection has ended. */
function send(
  method: string,
  target: string,
  options: { user?: string; body?: string; name?: string } = {},
): Promise<number> {
  const { user, body = '', name } = options;
  const credentials = Buffer.from(`${user}:${SECRET}`).toString('base64');
  const headers = user === undefined ? {} : { authorization: `Basic ${credentials}` };
  const [host, port] = sidecar.listen.split(':');
  return new Promise((resolve) => {
    const request = http.request({ host, port: Number(port), method, path: target, agent, headers }, (response) => {
      response.resume().on('close', () => resolve(response.statusCode ?? 0));
    });
    request.on('error', () => resolve(0)).end(body);
    if (name === undefined) return;
    asked.set(name, request);
    beganMs.set(name, Date.now());
  });
}

async function read(path: string): Promise<{ text: string; entries: readonly Entry[]; total: string | null }> {
  const answered = await fetch(`http://${sidecar.monitor}${REST}/admin/${path}`);
  const text = await answered.text();
  expect(answered.status).toBe(200);
  return { text, entries: JSON.parse(text) as Entry[], total: answered.headers.get('x-total-count') };
}

beforeAll(async () => {
  upstream = http.createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('error', () => undefined).on('end', () => answer(request, response, body));
  });
  const file = folder.write('sidecar.yaml', 'calls:\n  slowest: 100\n');
  sidecar = await startSidecarProcess([...flagsFor(await listening(upstream)), '--config', file], {
    D2_SIDECAR_JVM_SOURCE: 'none',
  });
});

afterAll(async () => {
  await sidecar?.stop('SIGKILL');
  agent.destroy();
  upstream.closeAllConnections();
  upstream.close();
  folder.remove();
});

const users = Array.from({ length: USERS }, (_, at) => ({ user: `user${at}`, name: `E.Hold.${at}` }));
const cometUsers = Array.from({ length: COMET_USERS }, (_, at) => ({ user: `comet${at}`, name: `E.Slow.Of${at}` }));

describe('50 users who wait for an answer', () => {
  let first: Awaited<ReturnType<typeof read>>;

  it('are listed with call, name, session and age, oldest first', async () => {
    for (const { user, name } of users) {
      expect(await send('POST', `${REST}/d2/rpc/E.Demo/Login`, { user })).toBe(200);
      void send('POST', `${REST}/d2/rpc/E.Hold/${name.slice('E.Hold.'.length)}`, { user, name });
    }
    for (const { user, name } of cometUsers) {
      const ext = { authentication: { user, password: SECRET } };
      await send('POST', COMET, { body: JSON.stringify([{ channel: '/meta/handshake', id: '1', ext }]) });
      const [eventName, rpcName] = [name.slice(0, name.lastIndexOf('.')), name.slice(name.lastIndexOf('.') + 1)];
      const call = {
        channel: '/service/d2/rpc',
        id: '2',
        clientId: `client-id-of-${user}`,
        data: { eventName, rpcName },
      };
      beganMs.set(name, Date.now());
      await send('POST', COMET, { body: JSON.stringify([call]) });
    }
    await expect.poll(async () => (await read('d2/calls')).entries.length, WAIT).toBe(USERS + COMET_USERS);
    const sentMs = Date.now();
    first = await read('d2/calls');
    expect(first.total).toBe(String(USERS + COMET_USERS));
    const expected = [...users, ...cometUsers].map(({ user, name }) => [name, user]).sort();
    expect(first.entries.map(({ name, userName }) => [name, userName]).sort()).toEqual(expected);
    const sessions = (await read('d2/sessions')).entries as unknown as { id: string; userName: string }[];
    const idOf = new Map(sessions.map(({ id, userName }) => [userName, id]));
    for (const {
      name,
      sessionId,
      userName,
      kind,
      connectionType,
      remoteAddress,
      startTime,
      duration,
    } of first.entries) {
      expect(sessionId).toBe(idOf.get(userName ?? ''));
      expect([kind, remoteAddress]).toEqual(['rpc', '127.0.0.1']);
      expect(connectionType).toBe(name.startsWith('E.Hold') ? 'REST' : 'COMET_LONG_POLLING');
      const began = beganMs.get(name) ?? 0;
      // It began after it was sent, and is no older than that; clocks of two processes differ by some ms.
      expect(Date.parse(startTime)).toBeGreaterThanOrEqual(began - 20);
      expect(duration * 1_000).toBeLessThanOrEqual(Date.now() - began + 20);
      expect(duration * 1_000).toBeGreaterThanOrEqual(sentMs - Date.parse(startTime) - 20);
    }
    const starts = first.entries.map(({ startTime }) => startTime);
    expect(starts).toEqual([...starts].sort());
  });

  it('are the same after a reload', async () => {
    writeFileSync(`${folder.path}/sidecar.yaml`, 'calls:\n  slowest: 60\n');
    process.kill(sidecar.pid, 'SIGHUP');
    await expect.poll(() => sidecar.logs.some(({ msg }) => msg === 'the configuration was reloaded'), WAIT).toBe(true);
    const names = ({ entries }: { entries: readonly Entry[] }) =>
      entries.map(({ name, startTime }) => [name, startTime]);
    expect(names(await read('d2/calls')).map(([name]) => name)).toEqual(names(first).map(([name]) => name));
  });

  it('leave the list as their calls end, and are among the slowest with their outcome', async () => {
    const part = (from: number, to: number) => users.slice(from, to).map(({ name }) => name);
    for (const name of part(0, 10)) asked.get(name)?.destroy();
    for (const name of part(10, 20)) held.get(name)?.destroy();
    for (const name of part(20, 30)) held.get(name)?.end('ok');
    for (const name of part(30, 35)) held.get(name)?.writeHead(500).end();
    for (const name of part(35, 40)) held.get(name)?.writeHead(404).end();
    await expect.poll(async () => (await read('d2/calls')).entries.length, WAIT).toBe(COMET_USERS);
    const { entries, text } = await read('d2/calls/slowest');
    const ofUsers = entries.filter(({ name }) => name.startsWith('E.Hold.'));
    const outcomes = new Map(ofUsers.map(({ name, outcome, status }) => [name, `${outcome} ${status}`]));
    expect(part(0, 10).map((name) => outcomes.get(name))).toEqual(Array(10).fill('aborted null'));
    expect(part(10, 20).map((name) => outcomes.get(name))).toEqual(Array(10).fill('unanswered null'));
    expect(part(20, 30).map((name) => outcomes.get(name))).toEqual(Array(10).fill('ok 200'));
    expect(part(30, 35).map((name) => outcomes.get(name))).toEqual(Array(5).fill('error 500'));
    expect(part(35, 40).map((name) => outcomes.get(name))).toEqual(Array(5).fill('client_error 404'));
    for (const { name, userName } of ofUsers) expect(users).toContainEqual({ user: userName, name });
    const durations = entries.map(({ duration }) => duration);
    expect(durations).toEqual([...durations].sort((a, b) => b - a));
    // The logins of all users were calls, too; 60 are kept.
    expect(entries).toHaveLength(60);
    for (const { startTime, endTime = '', duration } of entries) {
      expect(Math.abs(Date.parse(endTime) - Date.parse(startTime) - duration * 1_000)).toBeLessThan(20);
    }
    expect(text + first.text).not.toMatch(
      new RegExp(`${SECRET}|client-id-of|${Buffer.from(`user0:${SECRET}`).toString('base64')}`),
    );
  });

  it('over Comet leave with their client', async () => {
    for (const { user } of cometUsers) {
      const message = { channel: '/meta/disconnect', id: '3', clientId: `client-id-of-${user}` };
      await send('POST', COMET, { body: JSON.stringify([message]) });
    }
    await expect.poll(async () => (await read('d2/calls')).total, WAIT).toBe('0');
  });
});
