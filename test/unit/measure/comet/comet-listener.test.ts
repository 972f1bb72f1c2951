import { expect, it } from 'vitest';
import type { CometListener } from '../../../../src/measure/comet/comet-application.ts';
import { CometTraffic, rpcAnswer, rpcCall } from '../../../support/measure/comet/comet-traffic.ts';

function traffic(listener?: CometListener): CometTraffic {
  const made = new CometTraffic({}, listener);
  made.handshake('a');
  made.handshake('b');
  made.post([rpcCall('7')], [rpcAnswer('7')]);
  made.subscribe('b', '/d2/object/H.Demo');
  made.release(made.hold('b'), [{ channel: '/d2/object/H.Demo', data: { value: 1 } }]);
  return made;
}

function numbersOf(made: CometTraffic): unknown {
  const { statistics } = made.application();
  return [
    made.numbers,
    [...statistics.rpc.metrics().timers].map(([name, { count }]) => [name, count]),
    [...statistics.object.metrics().meters].map(([name, { count }]) => [name, count]),
  ];
}

it('a listener hears every message of both sides once, in order, and whose it is', () => {
  const heard: [string, object | undefined][] = [];
  traffic({
    onClientMessage: ({ channel }, client) => void heard.push([`> ${channel}`, client]),
    onUpstreamMessage: ({ channel }, client) => void heard.push([`< ${channel}`, client]),
    onFailure: () => expect.unreachable(),
  });
  const shaken = '> /meta/handshake, < /meta/handshake';
  const called = '> /service/d2/rpc, < /service/d2/rpc';
  const monitored = '> /meta/subscribe, < /meta/subscribe, > /meta/connect, < /d2/object/H.Demo, < /meta/connect';
  expect(heard.map(([what]) => what).join(', ')).toBe([shaken, shaken, called, monitored].join(', '));
  // The server names the client with its answer to the handshake.
  const [, a, , b, ...rest] = heard.map(([, client]) => client);
  expect([a, b]).not.toContain(undefined);
  expect(a).not.toBe(b);
  expect(rest.map((client) => [client === a, client === b])).toEqual([
    ...[0, 1].map(() => [true, false]),
    ...[0, 1, 2, 3, 4].map(() => [false, true]),
  ]);
});

it('a listener disturbs nothing when it throws, and is told', () => {
  let failures = 0;
  const fail = () => {
    throw new Error('a mistake');
  };
  const made = traffic({ onClientMessage: fail, onUpstreamMessage: fail, onFailure: () => (failures += 1) });
  expect(failures).toBe(11);
  expect(numbersOf(made)).toEqual(numbersOf(traffic()));
});
