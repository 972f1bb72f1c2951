/** `comet.maxSubscriptions`, reached through the configuration and by real requests. */
import http from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { MODES, type Mode, post, startLimitStand } from './limit-stand.ts';

const WAIT = { timeout: 10_000 };
const server = http.createServer(async (request, response) => {
  const accepted = (message: object) => ({ ...message, successful: true, clientId: 'client-1' });
  const messages = JSON.parse(await text(request)) as object[];
  response.setHeader('Content-Type', 'application/json');
  response.end(JSON.stringify(messages.map(accepted)));
});

it('monitorings beyond comet.maxSubscriptions are not counted, until another one has ended', async () => {
  const limited = ({ comet }: Config) => ({ comet: { ...comet, maxSubscriptions: 2 } });
  const onConnection = (socket: Socket) => void server.emit('connection', socket);
  const stand = await startLimitStand(MODES[0] as Mode, limited, { onConnection });
  const peer = await stand.connect();
  const send = async (channel: string, more: object) => {
    const body = JSON.stringify([{ channel, id: '1', clientId: 'client-1', ...more }]);
    const fields = [`Authorization: Basic ${btoa('ann:secret')}`, 'Content-Type: application/json'];
    const call = post('/smartWeb/api/cometd', body, ...fields, `Content-Length: ${body.length}`);
    expect((await peer.ask(call)).status).toBe(200);
  };
  const monitored = () =>
    Promise.all(
      ['A', 'B', 'C'].map((name) => stand.sample(`d2_object_subscriptions{application="smartWeb",name="${name}"}`)),
    );
  await send('/meta/handshake', { version: '1.0' });
  for (const name of ['A', 'B', 'C']) await send('/meta/subscribe', { subscription: `/d2/object/${name}` });
  // On a busy machine the time for reading along may be spent, and the last message waits.
  await expect.poll(() => stand.sample('d2_sidecar_comet_untracked_total{table="subscriptions"}'), WAIT).toBe(1);
  expect(await monitored()).toEqual([1, 1, undefined]);
  await send('/meta/unsubscribe', { subscription: '/d2/object/A' });
  await send('/meta/subscribe', { subscription: '/d2/object/C' });
  await expect.poll(monitored, WAIT).toEqual([0, 1, 1]);
});
