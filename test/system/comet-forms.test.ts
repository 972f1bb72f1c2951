/** Callback-polling and form-encoded posts, against the real `faye` server: the sidecar counts what both ends count. */
import { afterEach, expect, it } from 'vitest';
import { startCometSidecar } from '../support/comet/comet-sidecar.ts';
import { OBJECT_PREFIX, SUBSCRIBE_CHANNEL } from '../support/comet/plant.ts';
import { channelOf, dataOf, metricNameOf, type PlantCall } from '../support/comet/plant-call.ts';
import { sumOf } from '../support/comet/tally.ts';
import { startFayePlant } from './comet/faye-plant.ts';
import { FormPoller, type PollingManner } from './comet/form-poller.ts';
import { StatisticsReader, toLogins, toStatistics } from './comet/statistics.ts';

const CALL: PlantCall = { service: 'rpc', eventName: 'E.Boiler', rpcName: 'Zapni', manner: 'data', workMs: 1 };

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

it.each<PollingManner>(['callback', 'form'])('%s: subscriptions, values and calls are counted', async (manner) => {
  const plant = await startFayePlant();
  cleanUps.push(() => plant.close());
  const sidecar = await startCometSidecar(plant.port);
  cleanUps.unshift(() => sidecar.close());
  const client = new FormPoller(sidecar.origin, manner);
  await client.connect('žofia');

  const replies = await client.send(
    { channel: '/meta/subscribe', subscription: `${OBJECT_PREFIX}Boiler_1` },
    { channel: '/meta/subscribe', subscription: `${OBJECT_PREFIX}Boiler_2` },
    { channel: SUBSCRIBE_CHANNEL, data: { objectName: 'H.Kotolňa & 100%' } },
    { channel: channelOf(CALL), data: dataOf(CALL) },
  );
  expect(replies.map(({ successful }) => successful)).toEqual([true, true, true, true]);
  client.tally.countCall(metricNameOf(CALL), false);
  for (const object of ['Boiler_1', 'Boiler_2', 'H.Kotolňa & 100%']) client.tally.monitored.add(object);
  await client.send({ channel: '/meta/unsubscribe', subscription: `${OBJECT_PREFIX}Boiler_2` });
  client.tally.monitored.delete('Boiler_2');
  for (let round = 0; round < 3; round += 1) {
    const polled = client.poll();
    for (const object of ['Boiler_1', 'Boiler_2', 'Boiler_1']) plant.push(object);
    await polled;
  }

  const counts = sumOf([client.tally]);
  expect(counts).toEqual(plant.ledger.total);
  expect(counts.values).toEqual({ Boiler_1: 6 });
  const reader = new StatisticsReader(sidecar.process.monitor);
  await expect.poll(() => reader.statistics(), { timeout: 6_000 }).toEqual(toStatistics(counts));
  expect(await reader.logins()).toEqual(toLogins(plant.ledger.logins(), 'COMET_LONG_POLLING'));
});
