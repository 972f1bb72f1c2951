/** The real `faye` server, and what old browsers send it, by callbacks and by forms. */
import { createServer } from 'node:http';
import faye, { type Message } from 'faye';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startCometSidecar } from '../support/comet/comet-sidecar.ts';
import { COMET_PATH } from '../support/comet/login-desk.ts';
import { HOLD_MS, listen, newValue, OBJECT_PREFIX, SUBSCRIBE_CHANNEL } from '../support/comet/plant.ts';
import { channelOf, dataOf, type PlantCall } from '../support/comet/plant-call.ts';
import { deferTo } from '../support/deferred.ts';
import { StatisticsReader, toLogins } from './comet/statistics.ts';

const CALL: PlantCall = { service: 'rpc', eventName: 'E.Boiler', rpcName: 'Zapni', manner: 'data', workMs: 0 };
const SERVICE_OBJECT = 'H.Kotolňa & 100%';
const USER = 'žofia';

let bayeux: InstanceType<typeof faye.NodeAdapter>;
let url: string;
let reader: StatisticsReader;
const defer = deferTo(afterEach);

beforeEach(async () => {
  const http = createServer();
  bayeux = new faye.NodeAdapter({ mount: COMET_PATH, timeout: HOLD_MS / 1_000 });
  bayeux.attach(http);
  // It has no remote calls.
  bayeux.addExtension({
    outgoing: (message, _request, callback) => {
      const isAnswer = message.channel === channelOf(CALL) && message.successful === true;
      callback(isAnswer ? { ...message, data: { result: 1 } } : message);
    },
  });
  const { port, cut } = await listen(http);
  defer(cut);
  defer(() => bayeux.close());
  const sidecar = await startCometSidecar(defer, port);
  url = `http://${sidecar.listen}${COMET_PATH}`;
  reader = new StatisticsReader(sidecar.monitor);
});

it.each(['callback', 'form'] as const)(
  'subscriptions, values and calls are counted that are polled for by %s',
  async (manner) => {
    async function send(...messages: readonly object[]): Promise<Message[]> {
      const message = JSON.stringify(messages);
      if (manner === 'form') {
        const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ message }) });
        return (await response.json()) as Message[];
      }
      const response = await fetch(`${url}?${new URLSearchParams({ jsonp: 'cb._7', message })}`);
      const [, json = ''] = /^\/\*\*\/cb\._7\((.*)\);$/s.exec(await response.text()) ?? [];
      return JSON.parse(json) as Message[];
    }
    const connectionType = manner === 'callback' ? 'callback-polling' : 'long-polling';
    const handshake = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: [connectionType] };
    const [{ clientId } = {} as Message] = await send({
      ...handshake,
      id: 'h',
      ext: { authentication: { user: USER } },
    });
    const replies = await send(
      { channel: '/meta/subscribe', id: '1', clientId, subscription: `${OBJECT_PREFIX}Boiler_1` },
      { channel: '/meta/subscribe', id: '2', clientId, subscription: `${OBJECT_PREFIX}Boiler_2` },
      { channel: SUBSCRIBE_CHANNEL, id: '3', clientId, data: { objectName: SERVICE_OBJECT } },
      { channel: channelOf(CALL), id: '4', clientId, data: dataOf(CALL) },
    );
    expect(replies.map(({ successful }) => successful)).toEqual([true, true, true, true]);
    await send({ channel: '/meta/unsubscribe', id: '5', clientId, subscription: `${OBJECT_PREFIX}Boiler_2` });
    const values: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      const polled = send({ channel: '/meta/connect', id: `c${round}`, clientId, connectionType });
      for (const object of ['Boiler_1', 'Boiler_2', 'Boiler_1']) {
        void bayeux.getClient().publish(`${OBJECT_PREFIX}${object}`, newValue(object));
      }
      values.push(...(await polled).filter(({ channel }) => channel === `${OBJECT_PREFIX}Boiler_1`));
    }
    expect(values).toHaveLength(6);
    const counts = {
      subscriptions: { Boiler_1: 1, [SERVICE_OBJECT]: 1 },
      values: { Boiler_1: 6 },
      calls: { 'rpc.E.Boiler.Zapni': { answered: 1, failed: 0 } },
    };
    await expect.poll(() => reader.statistics(), { timeout: 6_000 }).toEqual(counts);
    expect(await reader.logins()).toEqual(toLogins([{ userName: USER, ...counts }], 'COMET_LONG_POLLING'));
  },
);
