import { setTimeout as sleep } from 'node:timers/promises';
import { privateBytes } from '../../../support/load/proc.ts';
import { ALL_PEERS } from '../peers/all-peers.ts';
import { UNMEASURED_SIDECAR } from '../peers/node-peers.ts';
import { figure, type Sample } from '../results.ts';
import { connectMany, exchange, fewNames, fill, rpcRequest } from '../small-client.ts';
import { column, MEMORY, SIDECAR_NAME } from './columns.ts';
import { residentMb } from './measure-load.ts';
import { atMost, type Turn, toContestants, type Workload } from './workload.ts';

const IDLE_CONNECTIONS = 1_000;
const WARM_UP_REQUESTS = 20_000;
const KB_PER_MB = 1024;
const BYTES_PER_MB = 2 ** 20;
const KB_PER_CONNECTION = column('kbPerConnection', 'KB/connection');
const ALL = toContestants(ALL_PEERS);

async function measureIdle({ running, seconds }: Turn): Promise<Sample> {
  const { pid, spot } = running;
  await fill(spot.port, fewNames(WARM_UP_REQUESTS));
  const beforeMb = residentMb(pid);
  const clients = await connectMany(spot.port, IDLE_CONNECTIONS);
  try {
    const pauseMs = (seconds * 1000) / (clients.length / 10);
    for (const [at, client] of clients.entries()) {
      await exchange(client, rpcRequest(at % 10, at % 10));
      if (at % 10 === 9) await sleep(pauseMs);
    }
    const rssMb = residentMb(pid);
    return { rssMb, kbPerConnection: ((rssMb - beforeMb) * KB_PER_MB) / IDLE_CONNECTIONS };
  } finally {
    for (const client of clients) client.destroy();
  }
}

const IDLE: Workload = {
  name: 'idle',
  title: '1,000 mostly idle connections',
  how: 'A fresh process, 20,000 requests to warm up, then 1,000 connections with one small RPC each.',
  upstream: 'nginx',
  contestants: ALL,
  isFresh: true,
  columns: [KB_PER_CONNECTION, MEMORY],
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
  columns: [column('startMs', 'ms', 0), column('privateMb', 'private MB'), MEMORY],
  targets: [atMost(400, 'start to listening, ms', figure(SIDECAR_NAME, 'startMs'), 0)],
  measure: async ({ running: { pid, startMs } }) => ({
    startMs,
    privateMb: (privateBytes(pid) ?? 0) / BYTES_PER_MB,
    rssMb: residentMb(pid),
  }),
};

export const CONNECTIONS: readonly Workload[] = [IDLE, START];
