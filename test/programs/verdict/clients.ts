/** Clients of a call: those that wait, read or send slowly, and those that give up, by curl, Chromium and nginx. */
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { run } from '../../support/install/run.ts';
import { toHead } from '../../support/load/heads.ts';
import { basic } from '../../support/monitor/access/access-files.ts';
import { portOf } from '../../support/net.ts';

export const REST = '/smartWeb/api/rest/v0/d2/';
const ANNA = basic('anna', 'word of anna');
/** Long enough to start, connect and send the call on a busy machine. */
const PATIENCE_S = 1.5;
/** Takes longer than that. */
const CALL = 'rpc/E.Demo/Sleep3000';
/** Longer than a call of the server takes. */
const PAUSE_MS = 2_500;

const times = <T>(count: number, each: () => Promise<T>) => Promise.all(Array.from({ length: count }, each));

/** Calls that run at once, by POST; resolves once all have ended, however they end. */
export async function call(listen: string, target: string, count: number, method = 'POST'): Promise<void> {
  const headers = { authorization: ANNA, 'content-type': 'application/json' };
  await times(count, () =>
    fetch(`http://${listen}${target}`, { method, headers, ...(method === 'POST' && { body: '[]' }) })
      .then((response) => response.arrayBuffer())
      .catch(() => undefined),
  );
}

async function connect(listen: string): Promise<net.Socket> {
  const socket = net.connect(portOf(listen), '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

export function readSlowly(listen: string): Promise<unknown> {
  const head = toHead(`GET ${REST}sba/E.Files/Download?param=20000000`, { Authorization: ANNA, Connection: 'close' });
  return times(4, async () => {
    const socket = await connect(listen);
    socket.pause().write(head);
    await wait(PAUSE_MS);
    socket.resume();
    await once(socket, 'close');
  });
}

export function sendSlowly(listen: string): Promise<unknown> {
  const fields = { Authorization: ANNA, 'Content-Type': 'application/json', 'Content-Length': 2, Connection: 'close' };
  return times(4, async () => {
    const socket = await connect(listen);
    socket.write(`${toHead(`POST ${REST}rpc/E.Demo/TestInOut`, fields)}[`);
    await wait(PAUSE_MS);
    socket.write(']');
    await once(socket.resume(), 'close');
  });
}

/** `origin` e.g. `https://127.0.0.1:8081`. */
export function giveUpByCurl(origin: string): Promise<unknown> {
  const patience = ['--insecure', '--silent', '--max-time', String(PATIENCE_S)];
  const request = ['--header', `authorization: ${ANNA}`, '--data', '[]', `${origin}${REST}${CALL}`];
  return times(5, () => run('curl', [...patience, ...request]));
}

/** Runs in a page of the application: `fetch` with an `AbortSignal`. */
export async function giveUpInPage([target, authorization, patienceMs]: readonly [
  string,
  string,
  number,
]): Promise<void> {
  const giveUp = () =>
    fetch(target, {
      ...{ method: 'POST', headers: { authorization }, body: '[]', signal: AbortSignal.timeout(patienceMs) },
    }).catch(() => undefined);
  await Promise.all([giveUp(), giveUp(), giveUp(), giveUp(), giveUp()]);
}

export const IN_PAGE = [`${REST}${CALL}`, ANNA, PATIENCE_S * 1_000] as const;
