/**
 * The cost of reading Comet messages, 1,000 in each iteration: `npx vitest bench --run test/bench/comet.bench.ts`. A mean of
 * 1.5 ms is 1.5 µs for a message. Texts come fresh from their bytes, and channels from their texts, as in production: a string
 * that was hashed before would make every map look faster. So subtract the first row of each group.
 */
import { bench, describe } from 'vitest';
import { CometClassifier } from '../../src/measure/classify/comet-classifier.ts';
import { parseMessages } from '../../src/protocol/bayeux/message.ts';

const COUNT = 1_000;
const classifier = new CometClassifier({ rules: [], defaultRules: true });

function bytesOf(toText: (i: number) => string): Buffer[] {
  return Array.from({ length: COUNT }, (_, i) => Buffer.from(toText(i)));
}

function readAll(bytes: readonly Buffer[], read: (text: string) => unknown): void {
  for (const one of bytes) if (read(one.toString('utf8')) === undefined) throw new Error('not read');
}

const toDelivery = (i: number): string =>
  `[{"channel":"/d2/object/H.Plant.Pump${i}","data":{"value":${i}.5,"status":1}}]`;
const deliveries = bytesOf(toDelivery);
const connects = bytesOf(
  (i) =>
    `[{"id":"${i}","channel":"/meta/connect","connectionType":"websocket","clientId":"0cf5e357259c1dc92cb7a0949f681ebdb8b4aa77"}]`,
);
const calls = bytesOf(
  (i) =>
    `[{"id":"${i}","channel":"/service/d2/rpc","data":{"eventName":"E.Demo","rpcName":"Test${i % 10}","params":[${i}]},"clientId":"0cf5e357259c1dc92cb7a0949f681ebdb8b4aa77"}]`,
);

describe('1,000 messages read', () => {
  bench('their texts only', () => readAll(deliveries, (text) => text));
  bench('JSON.parse of a delivery only', () => readAll(deliveries, (text) => JSON.parse(text)));
  bench('a delivery', () => readAll(deliveries, parseMessages));
  bench('a connect', () => readAll(connects, parseMessages));
  bench('a call', () => readAll(calls, parseMessages));
});

describe('1,000 messages classified', () => {
  // As JSON.parse leaves them: each channel a string of its own, not yet hashed.
  const channels = (toChannel: (i: number) => string): (() => string[]) => {
    const text = Buffer.from(JSON.stringify(Array.from({ length: COUNT }, (_, i) => toChannel(i))));
    return () => JSON.parse(text.toString('utf8')) as string[];
  };
  const objects = channels((i) => `/d2/object/H.Plant.Pump${i}`);
  const services = channels(() => '/service/d2/object');
  const rpcs = channels(() => '/service/d2/rpc');
  const others = channels((i) => `/chat/room/${i}`);

  bench('their channels only', () => {
    objects();
  });
  bench('a delivery on the channel of an object', () => {
    for (const channel of objects()) classifier.classify('delivery', channel, undefined);
  });
  bench('a delivery that names its object', () => {
    for (const channel of services()) classifier.classify('delivery', channel, { objectName: 'H.Plant.Pump1' });
  });
  bench('a call', () => {
    for (const channel of rpcs()) classifier.classify('publish', channel, { eventName: 'E.Demo', rpcName: 'Test' });
  });
  bench('no meaning', () => {
    for (const channel of others()) classifier.classify('delivery', channel, undefined);
  });
});
