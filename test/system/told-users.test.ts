/** `sessions.userField`: the server states the user in its responses, as with single sign-on. */
import { describe, expect, it } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { untilTestEnds } from '../support/deferred.ts';
import { basic } from '../support/monitor/access/access-files.ts';
import { send, startApplication } from '../support/net.ts';
import { startStand } from '../support/wire/stand.ts';

const RPC = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';
const LOGOUT = '/smartWeb/api/rest/v0/d2/auth/logout';
const COMET = '/smartWeb/api/cometd';

/** Accepts `Negotiate <user>` or the cookie `JSESSIONID=<user>` as a login, and ignores everything else. */
async function start(userField: string | null = 'X-Remote-User') {
  const upstream = await startApplication(({ url, headers }, response, body) => {
    const { authorization = '', cookie = '' } = headers;
    const user = /^Negotiate (.*)$/.exec(authorization)?.[1] ?? /JSESSIONID=([^;]*)/.exec(cookie)?.[1];
    if (user !== undefined) response.setHeader('x-remote-user', user);
    response.statusCode = user === undefined ? 401 : 200;
    response.end(url?.startsWith(COMET) ? toReply(body) : '{}');
  }, untilTestEnds);
  const config = ({ sessions }: Config) => ({ sessions: { ...sessions, userField: userField ?? undefined } });
  const stand = await startStand({ upstreamPort: upstream.port, config }, untilTestEnds);
  const ask = async (path: string, headers: Record<string, string>, body = '') =>
    (await send(stand.port, path, { method: path === LOGOUT ? 'GET' : 'POST', headers, body })).status;
  const listed = () =>
    [...(stand.sidecar.recorder.applications.get('smartWeb')?.sessions.entries() ?? [])].map(
      ({ userName, connectionType, requests, verified }) => ({ userName, connectionType, requests, verified }),
    );
  return { ask, listed };
}

function toReply(text: string): string {
  const [message] = JSON.parse(text) as { channel: string; id: string }[];
  const known = { version: '1.0', supportedConnectionTypes: ['long-polling'], clientId: 'client-1' };
  return JSON.stringify([{ ...known, channel: message?.channel, id: message?.id, successful: true }]);
}

describe('a user that the server states', () => {
  it('calls with single sign-on have a session of the user that the server states', async () => {
    const { ask, listed } = await start();
    for (const user of ['anna', 'béla', 'anna']) await ask(RPC, { authorization: `Negotiate ${user}` });
    await expect.poll(listed).toEqual([
      { userName: 'anna', connectionType: 'REST', requests: 2, verified: undefined },
      { userName: 'béla', connectionType: 'REST', requests: 1, verified: undefined },
    ]);
    await ask(LOGOUT, { authorization: 'Negotiate anna' });
    await expect.poll(() => listed().map(({ userName }) => userName)).toEqual(['béla']);
  });

  it('ignores a wrong credential beside a login, and does not identify a session by it later', async () => {
    const { ask, listed } = await start();
    const wrong = basic('bela', 'wrong');
    await ask(RPC, { cookie: 'JSESSIONID=anna', authorization: wrong });
    expect(await ask(RPC, { authorization: wrong })).toBe(401);
    await expect.poll(listed).toEqual([{ userName: 'anna', connectionType: 'REST', requests: 1, verified: undefined }]);
  });

  it('names the session of a Comet client', async () => {
    const { ask, listed } = await start();
    const headers = { 'content-type': 'application/json', authorization: 'Negotiate anna' };
    await ask(`${COMET}/handshake`, headers, '[{"channel":"/meta/handshake","id":"1","version":"1.0"}]');
    const expected = [{ userName: 'anna', connectionType: 'COMET_LONG_POLLING', verified: undefined }];
    await expect.poll(listed).toMatchObject(expected);
  });

  it('reads nothing when it is not configured', async () => {
    const { ask, listed } = await start(null);
    await ask(RPC, { authorization: 'Negotiate anna' });
    expect(listed()).toEqual([]);
  });
});
