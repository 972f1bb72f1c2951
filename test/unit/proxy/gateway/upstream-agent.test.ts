import type { ClientRequest } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import type { GatewayServices } from '../../../../src/proxy/gateway/services.ts';
import { UpstreamAgent } from '../../../../src/proxy/gateway/upstream-agent.ts';
import { SharedLookup } from '../../../../src/proxy/upstream/shared-lookup.ts';
import { ManualClock } from '../../../support/clock.ts';

/** An agent whose sockets are never connected. `served` names the requests that have a socket, e.g. `first on 0`. */
function createAgent() {
  const sockets: Socket[] = [];
  const served: string[] = [];
  const connect = () => {
    const socket = new Socket();
    sockets.push(socket);
    return socket;
  };
  const names = new SharedLookup(new ManualClock());
  const options = { connectTimeoutMs: 1_000, upstreamTls: { connect } };
  const agent = new UpstreamAgent({ names, options } as unknown as GatewayServices, undefined);
  const ask = (name: string) => {
    const onSocket = (socket: Socket) => served.push(`${name} on ${sockets.indexOf(socket)}`);
    agent.addRequest({ onSocket } as unknown as ClientRequest);
  };
  ask('first');
  ask('second');
  return { sockets, served };
}

it('a request that comes before the socket is free waits for it', () => {
  const { sockets, served } = createAgent();
  expect(served).toEqual(['first on 0']);
  sockets[0]?.emit('free');
  expect(served).toEqual(['first on 0', 'second on 0']);
});

it('a request that waits for a socket gets a new one if that closes', () => {
  const { sockets, served } = createAgent();
  sockets[0]?.emit('close');
  expect(served).toEqual(['first on 0', 'second on 1']);
});
