/**
 * The cost of classifying Comet messages, 1,000 in each iteration: `npx vitest bench --run test/bench/comet.bench.ts`. A mean of
 * 1.5 ms is 1.5 µs for a message. Channels come fresh from their texts, as JSON.parse leaves them in production: a string that
 * was hashed before would make every map look faster. So subtract the first row.
 */
import { bench, describe } from 'vitest';
import { CometClassifier } from '../../src/measure/classify/comet-classifier.ts';

const classifier = new CometClassifier({ rules: [], defaultRules: true });

function channels(toChannel: (i: number) => string): () => string[] {
  const text = Buffer.from(JSON.stringify(Array.from({ length: 1_000 }, (_, i) => toChannel(i))));
  return () => JSON.parse(text.toString('utf8')) as string[];
}

describe('1,000 messages classified', () => {
  const objects = channels((i) => `/d2/object/H.Plant.Pump${i}`);
  const services = channels(() => '/service/d2/object');
  const rpcs = channels(() => '/service/d2/rpc');
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
});
