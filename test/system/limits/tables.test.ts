/** Limits of what is remembered, reached through the configuration and by real requests: what is beyond them passes, and is counted. */
import type net from 'node:net';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { LimitStands, MODES, type RawPeer } from './limit-stand.ts';

const WAIT = { timeout: 10_000 };
const stands = new LimitStands();
afterEach(() => stands.closeAll());
afterAll(() => stands.remove());

const REST = '/smartWeb/api/rest/v0';
const COMET = '/smartWeb/api/cometd';

function post(path: string, body = '', user = 'ann'): string {
  const credentials = Buffer.from(`${user}:secret`).toString('base64');
  const fields = `Host: plant.example\r\nAuthorization: Basic ${credentials}\r\nContent-Type: application/json`;
  return `POST ${path} HTTP/1.1\r\n${fields}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** A Comet server: says yes to everything. */
function cometServer(socket: net.Socket): void {
  let text = '';
  socket.on('error', () => undefined);
  socket.on('end', () => socket.end());
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
      const bodyEnd = end + 4 + Number(/^content-length: *(\d+)/im.exec(text.slice(0, end))?.[1] ?? 0);
      if (text.length < bodyEnd) return;
      const body = text.slice(end + 4, bodyEnd);
      text = text.slice(bodyEnd);
      const answer = body === '' ? 'ok' : JSON.stringify((JSON.parse(body) as object[]).map(accepted));
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`,
      );
    }
  });
}

function accepted(message: object): object {
  return { ...message, successful: true, clientId: 'client-1' };
}

for (const mode of MODES.filter(({ isSecure }) => !isSecure)) {
  describe(`tables (${mode.name})`, () => {
    const start = async (config: (base: Config) => Partial<Config>) => {
      const stand = await stands.start(mode, config, cometServer);
      const peer = await stand.connect();
      return { stand, peer, sample: stand.sample };
    };
    const all = async (peer: RawPeer, ...requests: readonly string[]) => {
      for (const request of requests) expect((await peer.ask(request)).status).toBe(200);
    };

    it('metrics.maxNames: calls of further names count as (other)', async () => {
      const { peer, sample } = await start(({ metrics }) => ({
        metrics: { ...metrics, maxNames: { ...metrics.maxNames, rpc: 2 } },
      }));
      await all(peer, ...['A', 'B', 'C', 'D', 'A'].map((name) => post(`${REST}/d2/rpc/E/${name}`)));
      const calls = (name: string) =>
        sample(`d2_calls_total{application="smartWeb",kind="rpc",name="${name}",outcome="ok"}`);
      expect(await Promise.all(['E.A', 'E.B', '(other)', 'E.C'].map(calls))).toEqual([2, 1, 2, undefined]);
      expect(await sample('d2_sidecar_names_folded_total{application="smartWeb",kind="rpc"}')).toBe(2);
    });

    it('sessions.max: a further session is not listed, until another one has ended', async () => {
      const { peer, sample, stand } = await start(({ sessions }) => ({ sessions: { ...sessions, max: 2 } }));
      const call = `${REST}/d2/rpc/E/A`;
      await all(peer, ...['ann', 'bob', 'cid'].map((user) => post(call, '', user)));
      const users = async () => {
        const path = `http://127.0.0.1:${stand.stand.monitorPort}${REST}/admin/d2/sessions`;
        return ((await (await fetch(path)).json()) as { userName: string }[]).map(({ userName }) => userName);
      };
      expect(await users()).toEqual(['ann', 'bob']);
      expect(await sample('d2_sidecar_sessions_untracked_total')).toBe(1);
      await all(peer, post(`${REST}/d2/auth/logout`, '', 'ann').replace('POST', 'GET'), post(call, '', 'cid'));
      expect(await users()).toEqual(['bob', 'cid']);
      expect(await sample('d2_sidecar_sessions_untracked_total')).toBe(1);
    });

    it('comet.maxSubscriptions: further monitorings are not counted, until another one has ended', async () => {
      const { peer, sample } = await start(({ comet }) => ({ comet: { ...comet, maxSubscriptions: 2 } }));
      const send = (channel: string, more: object) =>
        post(COMET, JSON.stringify([{ channel, id: '1', clientId: 'client-1', ...more }]));
      const subscribe = (object: string) => send('/meta/subscribe', { subscription: `/d2/object/${object}` });
      await all(peer, post(COMET, JSON.stringify([{ channel: '/meta/handshake', id: '1', version: '1.0' }])));
      await all(peer, subscribe('H.A'), subscribe('H.B'), subscribe('H.C'));
      const monitorings = (name: string) => sample(`d2_object_subscriptions{application="smartWeb",name="${name}"}`);
      expect(await Promise.all(['H.A', 'H.B', 'H.C'].map(monitorings))).toEqual([1, 1, undefined]);
      // On a busy machine the time for reading along may be spent, and the last message waits.
      await expect.poll(() => sample('d2_sidecar_comet_untracked_total{table="subscriptions"}'), WAIT).toBe(1);
      await all(peer, send('/meta/unsubscribe', { subscription: '/d2/object/H.A' }), subscribe('H.C'));
      await expect.poll(() => Promise.all(['H.A', 'H.B', 'H.C'].map(monitorings)), WAIT).toEqual([0, 1, 1]);
    });
  });
}
