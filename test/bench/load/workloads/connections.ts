import { setTimeout as sleep } from 'node:timers/promises';
import { UNMEASURED_SIDECAR } from '../peers/node-peers.ts';
import { ALL_PEERS } from '../peers/peers.ts';
import { figure, type Sample } from '../results.ts';
import { connectMany, exchange, fewNames, fill, rpcRequest } from '../small-client.ts';
import {
  atMost,
  column,
  MEMORY,
  residentMb,
  SIDECAR_NAME,
  type Turn,
  toContestants,
  type Workload,
} from './workload.ts';

const IDLE_CONNECTIONS = 1_000;
const WARM_UP_REQUESTS = 20_000;

async function measureIdle({ running: { pid, spot }, seconds }: Turn): Promise<Sample> {
  await fill(spot.port, fewNames(WARM_UP_REQUESTS));
  const beforeMb = residentMb(pid);
  const clients = await connectMany(spot.port, IDLE_CONNECTIONS);
  try {
    for (const [at, client] of clients.entries()) {
      await exchange(client, rpcRequest(at % 10, at % 10));
      if (at % 10 === 9) await sleep((seconds * 10_000) / IDLE_CONNECTIONS);
    }
    const rssMb = residentMb(pid);
    return { rssMb, kbPerConnection: ((rssMb - beforeMb) * 1_024) / IDLE_CONNECTIONS };
  } finally {
    for (const client of clients) client.destroy();
  }
}

const IDLE: Workload = {
  name: 'idle',
  title: '1,000 mostly idle connections',
  how: 'A fresh process, 20,000 requests to warm up, then 1,000 connections with one small RPC each.',
  upstream: 'nginx',
  contestants: toContestants(ALL_PEERS),
  isFresh: true,
  columns: [column('kbPerConnection', 'KB/connection'), MEMORY],
  targets: [atMost(20, 'memory for each idle connection, KB', figure(SIDECAR_NAME, 'kbPerConnection'), 1)],
  measure: measureIdle,
};

const START: Workload = {
  name: 'start',
  title: 'Start to listening',
  how: 'From the start of the process to the first accepted connection, looked for every 2 ms.',
  upstream: 'nginx',
  // With measuring off it runs from its 270 modules, one file each, so that one can be replaced: a start would measure that.
  contestants: toContestants(ALL_PEERS.filter((peer) => peer !== UNMEASURED_SIDECAR)),
  isFresh: true,
  columns: [column('startMs', 'ms', 0), MEMORY],
  targets: [atMost(400, 'start to listening, ms', figure(SIDECAR_NAME, 'startMs'), 0)],
  measure: async ({ running: { pid, startMs } }) => ({ startMs, rssMb: residentMb(pid) }),
};

export const CONNECTIONS: readonly Workload[] = [IDLE, START];
