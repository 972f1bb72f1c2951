import { setImmediate as nextTurn } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { expect, it } from 'vitest';
import type { Exchange } from '../../../../src/proxy/exchange/exchange.ts';
import { answeringAll } from '../../../support/wire/peer.ts';
import { GET, OK, useStand } from './stand.ts';

const stand = useStand();
v8.setFlagsFromString('--expose-gc');
const collectGarbage = vm.runInNewContext('gc') as () => void;

// Node's own agent clears `_httpMessage` of an idle socket. Ours has to do so, too.
it('an idle connection keeps nothing of its last exchange in memory', async () => {
  await stand.start({ upstream: answeringAll(OK) });
  const client = stand.client(GET);
  await client.take('ok');
  while (stand.ended.length === 0) await nextTurn();
  const exchange = new WeakRef<Exchange>(stand.ended[0]!.exchange);

  stand.ended = [];
  await nextTurn();
  collectGarbage();

  expect(exchange.deref()).toBeUndefined();
  await client.send(GET);
  await client.take('ok');
  expect(stand.upstreams).toHaveLength(1);
});
