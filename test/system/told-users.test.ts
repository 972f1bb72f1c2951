/** `sessions.userField`: the server tells in its responses who the user is, as behind single sign-on. */
import http from 'node:http';
import { request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { listening } from '../support/net.ts';
import { type SecureStand, startSecureStand } from '../support/tls/secure-stand.ts';

const RPC = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';
const LOGOUT = '/smartWeb/api/rest/v0/d2/auth/logout';
const COMET = '/smartWeb/api/cometd';

let upstream: http.Server;
let stand: SecureStand | undefined;

/** Takes `Negotiate <user>` or the cookie `JSESSIONID=<user>` for a login, and looks at nothing else then. */
beforeEach(() => {
  upstream = http.createServer((asked, response) => {
    const { authorization = '', cookie = '' } = asked.headers;
    const user = /^Negotiate (.*)$/.exec(authorization)?.[1] ?? /JSESSIONID=([^;]*)/.exec(cookie)?.[1];
    let text = '';
    asked.on('data', (bytes) => {
      text += String(bytes);
    });
    asked.on('end', () => {
      if (user !== undefined) response.setHeader('x-remote-user', user);
      response.statusCode = user === undefined && asked.headers['x-api-key'] === undefined ? 401 : 200;
      response.end(asked.url?.startsWith(COMET) ? toReply(text) : '{}');
    });
  });
});

afterEach(async () => {
  await stand?.close();
  stand = undefined;
  upstream.close();
});

function toReply(text: string): string {
  const [message] = JSON.parse(text) as { channel: string; id: string }[];
  const known = { version: '1.0', supportedConnectionTypes: ['long-polling'], clientId: 'client-1' };
  return JSON.stringify([{ ...known, channel: message?.channel, id: message?.id, successful: true }]);
}

async function start(dataPath: Config['dataPath'], userField: string | null = 'X-Remote-User'): Promise<void> {
  const port = await listening(upstream);
  stand = await startSecureStand((base) => ({
    ...{
      dataPath,
      upstream: { ...base.upstream, port },
      sessions: { ...base.sessions, userField: userField ?? undefined },
    },
  }));
}

async function send(path: string, headers: Record<string, string>, body?: string): Promise<number> {
  const answer = await request(`http://127.0.0.1:${stand?.port}${path}`, {
    method: path === LOGOUT ? 'GET' : 'POST',
    headers,
    ...(body === undefined ? {} : { body }),
  });
  await answer.body.dump();
  return answer.statusCode;
}

function listed() {
  const [application] = [...(stand as SecureStand).sidecar.recorder.applications.values()];
  const entries = [...(application?.sessions.entries() ?? [])];
  return entries.map(({ userName, connectionType, requests, verified }) => ({
    userName,
    connectionType,
    requests,
    verified,
  }));
}

describe.each(['auto', 'gateway'] as const)('with dataPath %s', (dataPath) => {
  it('calls with single sign-on have a session of the user whom the server tells', async () => {
    await start(dataPath);
    for (const user of ['anna', 'béla', 'anna']) await send(RPC, { authorization: `Negotiate ${user}` });
    await expect.poll(listed).toEqual([
      { userName: 'anna', connectionType: 'REST', requests: 2, verified: undefined },
      { userName: 'béla', connectionType: 'REST', requests: 1, verified: undefined },
    ]);
    await send(LOGOUT, { authorization: 'Negotiate anna' });
    await expect.poll(() => listed().map(({ userName }) => userName)).toEqual(['béla']);
  });

  it('tells whose an application key is', async () => {
    await start(dataPath);
    await send(RPC, { 'x-api-key': 'key-1' });
    await expect.poll(listed).toMatchObject([{ userName: null, requests: 1 }]);
    await send(RPC, { 'x-api-key': 'key-1', authorization: 'Negotiate anna' });
    await expect.poll(listed).toMatchObject([{ userName: 'anna', requests: 2 }]);
  });

  it('is right about a wrong credential beside a login, which leads nowhere afterwards', async () => {
    await start(dataPath);
    const wrong = `Basic ${Buffer.from('bela:wrong').toString('base64')}`;
    await send(RPC, { cookie: 'JSESSIONID=anna', authorization: wrong });
    expect(await send(RPC, { authorization: wrong })).toBe(401);
    await expect.poll(listed).toEqual([{ userName: 'anna', connectionType: 'REST', requests: 1, verified: undefined }]);
  });

  it('names the session of a Comet client', async () => {
    await start(dataPath);
    const handshake = [
      { channel: '/meta/handshake', id: '1', version: '1.0', supportedConnectionTypes: ['long-polling'] },
    ];
    const headers = { 'content-type': 'application/json', authorization: 'Negotiate anna' };
    await send(`${COMET}/handshake`, headers, JSON.stringify(handshake));
    await expect
      .poll(listed)
      .toMatchObject([{ userName: 'anna', connectionType: 'COMET_LONG_POLLING', verified: undefined }]);
  });

  it('reads nothing when it is not configured', async () => {
    await start(dataPath, null);
    await send(RPC, { authorization: 'Negotiate anna' });
    expect(listed()).toEqual([]);
  });
});
