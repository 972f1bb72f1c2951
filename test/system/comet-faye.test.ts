/** The real `faye`: its client over WebSocket, and what old browsers send its server, by callbacks and by forms. */
import { createServer } from 'node:http';
import faye, { type Message } from 'faye';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CometSidecar, startCometSidecar } from '../support/comet/comet-sidecar.ts';
import { COMET_PATH } from '../support/comet/login-desk.ts';
import {
  FORBIDDEN_OBJECT,
  HOLD_MS,
  listen,
  newValue,
  OBJECT_PREFIX,
  SUBSCRIBE_CHANNEL,
} from '../support/comet/plant.ts';
import { channelOf, dataOf, type PlantCall } from '../support/comet/plant-call.ts';
import type { Counts } from '../support/comet/tally.ts';
import { until } from '../support/comet/until.ts';
import { StatisticsReader, toLogins, toStatistics } from './comet/statistics.ts';

const CALL: PlantCall = { service: 'rpc', eventName: 'E.Boiler', rpcName: 'Zapni', manner: 'data', workMs: 0 };
const CALL_NAME = 'rpc.E.Boiler.Zapni';
const SERVICE_OBJECT = 'H.Kotolňa & 100%';
const USER = 'žofia';
const EXT = { authentication: { user: USER } };
/** The server holds polls so briefly that a busy machine could be late; the client must not give up then. */
const PATIENCE_MS = 60_000;

let bayeux: InstanceType<typeof faye.NodeAdapter>;
let sidecar: CometSidecar;
let reader: StatisticsReader;
let cut: () => Promise<void>;

beforeEach(async () => {
  const http = createServer();
  bayeux = new faye.NodeAdapter({ mount: COMET_PATH, timeout: HOLD_MS / 1_000 });
  bayeux.attach(http);
  // It has no remote calls, and would grant everything.
  bayeux.addExtension({
    incoming: (message, _request, callback) => {
      const isForbidden = message.subscription === `${OBJECT_PREFIX}${FORBIDDEN_OBJECT}`;
      const isRefused = (message.data as PlantCall | undefined)?.manner === 'refused';
      callback({ ...message, ...(isForbidden || isRefused ? { error: '403::denied' } : {}) });
    },
    outgoing: (message, _request, callback) => {
      const isAnswer = message.channel === channelOf(CALL) && message.successful === true;
      callback(isAnswer ? { ...message, data: { result: 1 } } : message);
    },
  });
  const listening = await listen(http);
  cut = listening.cut;
  sidecar = await startCometSidecar(listening.port);
  reader = new StatisticsReader(sidecar.process.monitor);
});

afterEach(async () => {
  await sidecar.close();
  bayeux.close();
  await cut();
});

function push(...objects: readonly string[]): void {
  for (const object of objects) void bayeux.getClient().publish(`${OBJECT_PREFIX}${object}`, newValue(object));
}

async function expectCounts(connectionType: string, counts: Counts): Promise<void> {
  await expect.poll(() => reader.statistics(), { timeout: 6_000 }).toEqual(toStatistics(counts));
  expect(await reader.logins()).toEqual(toLogins([{ userName: USER, ...counts }], connectionType));
}

it('a client that begins by long-polling and goes on over WebSocket is one session with all its counts', async () => {
  const client = new faye.Client(`${sidecar.origin}${COMET_PATH}`, { retry: 0.1 });
  const answered = { handshakes: 0, connects: 0, subscribed: 0 };
  let socketConnects = 0;
  const received: unknown[] = [];
  client.addExtension({
    outgoing: (message, callback) => {
      if (message.channel === '/meta/handshake') message.ext = EXT;
      if (message.channel === '/meta/connect' && message.connectionType === 'websocket') socketConnects += 1;
      callback(message);
    },
    incoming: (message, callback) => {
      if (message.advice?.timeout !== undefined) message.advice.timeout = PATIENCE_MS;
      if (message.successful === true) {
        if (message.channel === '/meta/handshake') answered.handshakes += 1;
        if (message.channel === '/meta/connect') answered.connects += 1;
        if (message.channel === '/meta/subscribe') answered.subscribed += 1;
      }
      callback(message);
    },
  });
  const objects = ['Boiler_1', 'Boiler_2', 'Sum(1)', 'a-b_c~d!e$f@g'];
  const subscribe = (object: string) => client.subscribe(`${OBJECT_PREFIX}${object}`, (value) => received.push(value));
  const call = (manner: PlantCall['manner']) => client.publish(channelOf(CALL), dataOf({ ...CALL, manner }));
  const pushAll = async () => {
    const before = received.length;
    push(...objects);
    await until('all values have come', () => received.length === before + objects.length);
  };

  client.connect(() => undefined);
  await until('the client connects over WebSocket', () => socketConnects > 0);
  const { clientId } = client._dispatcher;
  for (const object of objects) await subscribe(object);
  await client.publish(SUBSCRIBE_CHANNEL, { objectName: SERVICE_OBJECT });
  await expect(Promise.resolve(subscribe(FORBIDDEN_OBJECT))).rejects.toThrow('denied');
  await call('data');
  await expect(Promise.resolve(call('refused'))).rejects.toThrow('denied');
  await pushAll();
  const once = (names: readonly string[], count = 1) => Object.fromEntries(names.map((name) => [name, count]));
  const counts = (times: number) => ({
    subscriptions: once([...objects, SERVICE_OBJECT]),
    values: once(objects, times),
    calls: { [CALL_NAME]: { answered: 2, failed: 1 } },
  });
  await expectCounts('COMET_WEBSOCKET', counts(1));

  const { connects } = answered;
  client._dispatcher._transport?._socket?._stream.destroy();
  await until('the client is back after its connection broke', () => answered.connects > connects);
  expect([client._dispatcher.clientId, answered.handshakes]).toEqual([clientId, 1]);
  await pushAll();
  await expectCounts('COMET_WEBSOCKET', counts(2));

  bayeux._server._engine.destroyClient(clientId ?? '');
  const isBack = () => answered.handshakes === 2 && answered.subscribed === 2 * objects.length;
  await until('the client has subscribed again after the server forgot it', isBack);
  await pushAll();
  const { totals } = toStatistics({ ...counts(3), subscriptions: once(objects) });
  await expect.poll(async () => (await reader.statistics()).totals).toEqual(totals);
  expect(await reader.sessions()).toMatchObject([{ userName: USER }]);

  client.unsubscribe(`${OBJECT_PREFIX}Boiler_2`);
  await expect.poll(async () => (await reader.statistics()).totals.subscriptions).toBe(3);
  await client.disconnect();
  await expect.poll(() => reader.sessions(), { timeout: 6_000 }).toEqual([]);
});

describe.each(['callback', 'form'] as const)('polling by %s', (manner) => {
  async function send(...messages: readonly object[]): Promise<Message[]> {
    const message = JSON.stringify(messages);
    const url = `${sidecar.origin}${COMET_PATH}`;
    if (manner === 'form') {
      const response = await fetch(url, { method: 'POST', body: new URLSearchParams({ message }) });
      return (await response.json()) as Message[];
    }
    const response = await fetch(`${url}?${new URLSearchParams({ jsonp: 'cb._7', message })}`);
    const [, json = ''] = /^\/\*\*\/cb\._7\((.*)\);$/s.exec(await response.text()) ?? [];
    return JSON.parse(json) as Message[];
  }

  it('its subscriptions, values and calls are counted', async () => {
    const connectionType = manner === 'callback' ? 'callback-polling' : 'long-polling';
    const handshake = { channel: '/meta/handshake', version: '1.0', supportedConnectionTypes: [connectionType] };
    const [{ clientId } = {} as Message] = await send({ ...handshake, id: 'h', ext: EXT });
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
      push('Boiler_1', 'Boiler_2', 'Boiler_1');
      values.push(...(await polled).filter(({ channel }) => channel === `${OBJECT_PREFIX}Boiler_1`));
    }
    expect(values).toHaveLength(6);
    await expectCounts('COMET_LONG_POLLING', {
      subscriptions: { Boiler_1: 1, [SERVICE_OBJECT]: 1 },
      values: { Boiler_1: 6 },
      calls: { [CALL_NAME]: { answered: 1, failed: 0 } },
    });
  });
});
