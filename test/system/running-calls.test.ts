/** `d2/calls` and `d2/calls/slowest` beside users over REST and Comet: each call with its user, its age, and its outcome. */
import type http from 'node:http';
import { afterAll, expect, it } from 'vitest';
import type { CallEntry, SlowEntry } from '../../src/measure/record/running-calls.ts';
import { deferTo } from '../support/deferred.ts';
import { basic, Folder } from '../support/monitor/access/access-files.ts';
import { portOf, send as sendTo, startApplication } from '../support/net.ts';
import { startSidecarBefore } from '../support/sidecar-process.ts';

const REST = '/smartWeb/api/rest/v0';
const COMET = '/smartWeb/api/cometd';
const SECRET = 'secret-of-users';
const WAIT = { timeout: 10_000, interval: 20 };

type Message = Readonly<Record<string, unknown>>;
type Entry = CallEntry & Partial<Pick<SlowEntry, 'endTime' | 'status' | 'outcome'>>;

/** How the call of each user over REST ends, and the outcome that is shown. */
const OUTCOMES: readonly (readonly [end: (call: Held) => unknown, outcome: string])[] = [
  [({ leave }) => leave.abort(), 'aborted null'],
  [({ response }) => response?.destroy(), 'unanswered null'],
  [({ response }) => response?.end('ok'), 'ok 200'],
  [({ response }) => response?.writeHead(500).end(), 'error 500'],
  [({ response }) => response?.writeHead(404).end(), 'client_error 404'],
];

interface Held {
  readonly name: string;
  readonly user: string;
  readonly leave: AbortController;
  response?: http.ServerResponse;
}

const calls = OUTCOMES.map((_, at): Held => {
  return { name: `E.Hold.${at}`, user: `user${at}`, leave: new AbortController() };
});
const cometCalls = ['anna', 'boris'].map((user) => ({ name: `E.Slow.${user}`, user }));
const defer = deferTo(afterAll);
const folder = new Folder();
defer(() => folder.remove());

function toReply({ channel, id, clientId, ext }: Message): Message {
  const user = (ext as { authentication?: { user?: string } } | undefined)?.authentication?.user;
  return { channel, id, clientId: channel === '/meta/handshake' ? `client-id-of-${user}` : clientId, successful: true };
}

/** Resolves to the status, or to 0 when the connection has ended without an answer. */
async function send(target: string, user?: string, body = '', signal?: AbortSignal): Promise<number> {
  const headers = user === undefined ? {} : { authorization: basic(user, SECRET) };
  const sent = sendTo(portOf(sidecar.listen), target, { method: 'POST', headers, body, signal });
  return await sent.then(
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

const running = async () => (await read('d2/calls')).entries.length;

/** Holds calls of `E.Hold.<number>`, acknowledges calls over Comet, answers everything else. */
const upstream = await startApplication(({ url = '' }, response, body) => {
  const held = calls[Number(/E\.Hold\/(\d+)/.exec(url)?.[1] ?? -1)];
  if (held !== undefined) held.response = response;
  else response.end(url.startsWith(COMET) ? JSON.stringify((JSON.parse(body) as Message[]).map(toReply)) : 'ok');
}, defer);
const file = folder.write('sidecar.yaml', 'calls:\n  slowest: 100\n');
const sidecar = await startSidecarBefore(upstream.port, {}, ['--config', file], defer);

let first: Awaited<ReturnType<typeof read>>;

it('users who wait for an answer are listed with call, name and session, oldest first', async () => {
  for (const [at, { user, leave }] of calls.entries()) {
    expect(await send(`${REST}/d2/rpc/E.Demo/Login`, user)).toBe(200);
    void send(`${REST}/d2/rpc/E.Hold/${at}`, user, '', leave.signal);
  }
  for (const { user, name } of cometCalls) {
    const ext = { authentication: { user, password: SECRET } };
    await sendOverComet({ channel: '/meta/handshake', id: '1', ext });
    const data = { eventName: 'E.Slow', rpcName: name.slice('E.Slow.'.length) };
    await sendOverComet({ channel: '/service/d2/rpc', id: '2', clientId: `client-id-of-${user}`, data });
  }
  const all = [...calls, ...cometCalls];
  await expect.poll(running, WAIT).toBe(all.length);
  first = await read('d2/calls');
  expect(first.total).toBe(String(all.length));
  const shown = first.entries.map(({ name, userName }) => [name, userName]).sort();
  expect(shown).toEqual(all.map(({ name, user }) => [name, user]).sort());
  const sessions = (await read('d2/sessions')).entries as unknown as { id: string; userName: string }[];
  const idOf = new Map(sessions.map(({ id, userName }) => [userName, id]));
  for (const { name, userName, ...entry } of first.entries) {
    const connectionType = name.startsWith('E.Hold') ? 'REST' : 'COMET_LONG_POLLING';
    const sessionId = idOf.get(userName ?? '');
    expect(entry).toMatchObject({ kind: 'rpc', remoteAddress: '127.0.0.1', connectionType, sessionId });
  }
  const starts = first.entries.map(({ startTime }) => startTime);
  expect(starts).toEqual([...starts].sort());
});

it('they are the same after a reload, and leave as their calls end, to be among the slowest with their outcome', async () => {
  folder.write('sidecar.yaml', 'calls:\n  slowest: 6\n');
  process.kill(sidecar.pid, 'SIGHUP');
  await expect.poll(() => sidecar.logs.some(({ msg }) => msg === 'the configuration was reloaded'), WAIT).toBe(true);
  const namesIn = ({ entries }: typeof first) => entries.map(({ name }) => name);
  expect(namesIn(await read('d2/calls'))).toEqual(namesIn(first));

  for (const [at, call] of calls.entries()) OUTCOMES[at]?.[0](call);
  await expect.poll(running, WAIT).toBe(cometCalls.length);
  const { entries, text } = await read('d2/calls/slowest');
  const byName = new Map(entries.map((entry) => [entry.name, entry]));
  for (const [at, { name, user }] of calls.entries()) {
    const { userName, outcome, status } = byName.get(name) ?? {};
    expect([userName, `${outcome} ${status}`]).toEqual([user, OUTCOMES[at]?.[1]]);
  }
  const durations = entries.map(({ duration }) => duration);
  expect(durations).toEqual([...durations].sort((a, b) => b - a));
  // The logins of all users were calls, too; 6 are kept.
  expect(entries).toHaveLength(6);
  const secrets = new RegExp(`${SECRET}|client-id-of|${basic('user0', SECRET).slice('Basic '.length)}`);
  expect(text + first.text).not.toMatch(secrets);

  for (const { user } of cometCalls) {
    await sendOverComet({ channel: '/meta/disconnect', id: '3', clientId: `client-id-of-${user}` });
  }
  await expect.poll(running, WAIT).toBe(0);
});
