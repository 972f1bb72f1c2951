/** Limits of what is remembered, reached through the configuration and by real requests: what is beyond them passes, and is counted. */
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { LimitStands, MODES, post, type RawPeer } from './limit-stand.ts';

const WAIT = { timeout: 10_000 };
const stands = new LimitStands();

const REST = '/smartWeb/api/rest/v0';
const COMET = '/smartWeb/api/cometd';

const call = (path: string, body = '', user = 'ann') =>
  post(
    path,
    body,
    ...[`Authorization: Basic ${btoa(`${user}:secret`)}`, 'Content-Type: application/json'],
    `Content-Length: ${body.length}`,
  );

const comet = http.createServer(async (request, response) => {
  const body = await text(request);
  const accepted = (message: object) => ({ ...message, successful: true, clientId: 'client-1' });
  response.setHeader('Content-Type', 'application/json');
  response.end(body === '' ? 'ok' : JSON.stringify((JSON.parse(body) as object[]).map(accepted)));
});

for (const mode of MODES.filter(({ isSecure }) => !isSecure)) {
  describe(`tables (${mode.name})`, () => {
    const start = async (config: (base: Config) => Partial<Config>) => {
      const stand = await stands.start(mode, config, (socket) => comet.emit('connection', socket));
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
      await all(peer, ...['A', 'B', 'C', 'D', 'A'].map((name) => call(`${REST}/d2/rpc/E/${name}`)));
      const calls = (name: string) =>
        sample(`d2_calls_total{application="smartWeb",kind="rpc",name="${name}",outcome="ok"}`);
      expect(await Promise.all(['E.A', 'E.B', '(other)', 'E.C'].map(calls))).toEqual([2, 1, 2, undefined]);
      expect(await sample('d2_sidecar_names_folded_total{application="smartWeb",kind="rpc"}')).toBe(2);
    });

    it('sessions.max: a further session is not listed, until another one has ended', async () => {
      const { peer, sample, stand } = await start(({ sessions }) => ({ sessions: { ...sessions, max: 2 } }));
      const path = `${REST}/d2/rpc/E/A`;
      await all(peer, ...['ann', 'bob', 'cid'].map((user) => call(path, '', user)));
      const users = async () =>
        (await stand.stand.read<{ userName: string }[]>('d2/sessions')).map(({ userName }) => userName);
      expect(await users()).toEqual(['ann', 'bob']);
      expect(await sample('d2_sidecar_sessions_untracked_total')).toBe(1);
      await all(peer, call(`${REST}/d2/auth/logout`, '', 'ann').replace('POST', 'GET'), call(path, '', 'cid'));
      expect(await users()).toEqual(['bob', 'cid']);
      expect(await sample('d2_sidecar_sessions_untracked_total')).toBe(1);
    });

    it('comet.maxSubscriptions: further monitorings are not counted, until another one has ended', async () => {
      const { peer, sample } = await start(({ comet }) => ({ comet: { ...comet, maxSubscriptions: 2 } }));
      const send = (channel: string, more: object) =>
        call(COMET, JSON.stringify([{ channel, id: '1', clientId: 'client-1', ...more }]));
      const subscribe = (object: string) => send('/meta/subscribe', { subscription: `/d2/object/${object}` });
      await all(peer, call(COMET, JSON.stringify([{ channel: '/meta/handshake', id: '1', version: '1.0' }])));
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
