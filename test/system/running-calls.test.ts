/** `d2/calls` and `d2/calls/slowest` beside users over REST and Comet: each call with its user, its age, and its outcome. */
import type http from 'node:http';
import { expect, it } from 'vitest';
import type { CallEntry, SlowEntry } from '../../src/measure/record/running-calls.ts';
import { untilTestEnds } from '../support/deferred.ts';
import { basic } from '../support/monitor/access/access-files.ts';
import { send as sendTo, startApplication } from '../support/net.ts';
import { type StandOptions, startStand } from '../support/wire/stand.ts';

const REST = '/smartWeb/api/rest/v0';
const COMET = '/smartWeb/api/cometd';
const SECRET = 'secret-of-users';

type Message = Readonly<Record<string, unknown>>;

/** How the call of each user over REST ends, and the outcome that is shown. */
const OUTCOMES: readonly (readonly [end: (response: http.ServerResponse, leave: AbortController) => void, string])[] = [
  [(_response, leave) => leave.abort(), 'aborted null'],
  [(response) => void response.destroy(), 'unanswered null'],
  [(response) => void response.end('ok'), 'ok 200'],
  [(response) => void response.writeHead(500).end(), 'error 500'],
  [(response) => void response.writeHead(404).end(), 'client_error 404'],
];

function toReply({ channel, id, clientId, ext }: Message): Message {
  const user = (ext as { authentication?: { user?: string } } | undefined)?.authentication?.user;
  return { channel, id, clientId: channel === '/meta/handshake' ? `client-id-of-${user}` : clientId, successful: true };
}

it('users who wait for an answer are listed with call, name and session, oldest first, and then among the slowest with their outcome', async () => {
  /** Answers of calls of `E.Hold.<number>`; calls over Comet are acknowledged, everything else is answered. */
  const held: http.ServerResponse[] = [];
  const upstream = await startApplication(({ url = '' }, response, body) => {
    const number = /E\.Hold\/(\d+)/.exec(url)?.[1];
    if (number !== undefined) held[Number(number)] = response;
    else response.end(url.startsWith(COMET) ? JSON.stringify((JSON.parse(body) as Message[]).map(toReply)) : 'ok');
  }, untilTestEnds);
  const config: StandOptions['config'] = ({ calls }) => ({ calls: { ...calls, slowest: 6 } });
  const stand = await startStand({ upstreamPort: upstream.port, config }, untilTestEnds);
  const send = (target: string, headers = {}, body = '', signal?: AbortSignal) =>
    sendTo(stand.port, target, { method: 'POST', headers, body, signal }).catch(() => undefined);
  const comet = (message: Message) => send(COMET, {}, JSON.stringify([message]));
  const running = async () => (await stand.read<CallEntry[]>('d2/calls')).length;

  const leaves = OUTCOMES.map(() => new AbortController());
  const all: [name: string, user: string, connectionType: string][] = [];
  for (const [at, leave] of leaves.entries()) {
    const headers = { authorization: basic(`user${at}`, SECRET) };
    await send(`${REST}/d2/rpc/E.Demo/Login`, headers);
    void send(`${REST}/d2/rpc/E.Hold/${at}`, headers, '', leave.signal);
    all.push([`E.Hold.${at}`, `user${at}`, 'REST']);
    await expect.poll(() => held[at]).toBeDefined();
  }
  for (const user of ['anna', 'boris']) {
    const clientId = `client-id-of-${user}`;
    await comet({ channel: '/meta/handshake', id: '1', ext: { authentication: { user, password: SECRET } } });
    await comet({ channel: '/service/d2/rpc', id: '2', clientId, data: { eventName: 'E.Slow', rpcName: user } });
    all.push([`E.Slow.${user}`, user, 'COMET_LONG_POLLING']);
  }
  await expect.poll(running).toBe(all.length);
  const first = await stand.read<CallEntry[]>('d2/calls');
  const { headers } = await sendTo(stand.monitorPort, `${REST}/admin/d2/calls`);
  expect(headers['x-total-count']).toBe(String(all.length));
  const sessions = await stand.read<{ id: string; userName: string }[]>('d2/sessions');
  const idOf = new Map(sessions.map(({ id, userName }) => [userName, id]));
  expect(first).toMatchObject(
    all.map(([name, userName, connectionType]) => ({
      ...{ kind: 'rpc', remoteAddress: '127.0.0.1', name, userName, connectionType, sessionId: idOf.get(userName) },
    })),
  );
  expect(new Set(idOf.values()).size).toBe(all.length);

  for (const [at, [end]] of OUTCOMES.entries()) end(held[at] as http.ServerResponse, leaves[at] as AbortController);
  await expect.poll(running).toBe(2);
  const slowest = await stand.read<SlowEntry[]>('d2/calls/slowest');
  const shown = slowest.map(({ name, userName, outcome, status }) => [name, userName, `${outcome} ${status}`]);
  const wanted = OUTCOMES.map(([, outcome], at) => [`E.Hold.${at}`, `user${at}`, outcome]);
  expect(shown).toEqual(expect.arrayContaining(wanted));
  const durations = slowest.map(({ duration }) => duration);
  expect(durations).toEqual([...durations].sort((a, b) => b - a));
  // The logins of all users were calls, too.
  expect(slowest).toHaveLength(6);
  const secrets = new RegExp(`${SECRET}|client-id-of|${basic('user0', SECRET).slice('Basic '.length)}`);
  expect(JSON.stringify([first, slowest])).not.toMatch(secrets);
  for (const user of ['anna', 'boris']) {
    await comet({ channel: '/meta/disconnect', id: '3', clientId: `client-id-of-${user}` });
  }
  await expect.poll(running).toBe(0);
});
