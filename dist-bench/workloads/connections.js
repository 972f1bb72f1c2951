/** Workloads of many connections: idle ones, held polls; and what a process needs to start. */
import { setTimeout as sleep } from 'node:timers/promises';
import { HELD_COUNT_PATH } from '../answers.js';
import { ALL_PEERS } from '../peers/all-peers.js';
import { figure } from '../results.js';
import { connectMany, fewNames, fill, pollRequest, rpcRequest } from '../small-client.js';
import { CPU, column, MEMORY, P50, P99, PER_SECOND, SIDECAR_NAME, SIDECAR_TO_IT } from './columns.js';
import { measureLoad, residentMb } from './measure-load.js';
import { toContestants } from './workload.js';
const IDLE_CONNECTIONS = 1_000;
const HELD_POLLS = 2_000;
const HOLD_TIMEOUT_MS = 30_000;
const WARM_UP_REQUESTS = 20_000;
const KB_PER_MB = 1024;
const KB_PER_CONNECTION = column('kbPerConnection', 'KB/connection');
const ALL = toContestants(ALL_PEERS);
async function measureIdle({ running, seconds }) {
    const { pid, spot } = running;
    await fill(spot.port, fewNames(WARM_UP_REQUESTS));
    const beforeMb = residentMb(pid);
    const clients = await connectMany(spot.port, IDLE_CONNECTIONS);
    try {
        const pauseMs = (seconds * 1000) / (clients.length / 10);
        for (const [at, client] of clients.entries()) {
            await client.exchange(rpcRequest(at % 10, at % 10));
            if (at % 10 === 9)
                await sleep(pauseMs);
        }
        const rssMb = residentMb(pid);
        return { rssMb, kbPerConnection: ((rssMb - beforeMb) * KB_PER_MB) / IDLE_CONNECTIONS };
    }
    finally {
        for (const client of clients)
            client.close();
    }
}
const IDLE = {
    name: 'idle',
    title: '1,000 mostly idle connections',
    how: 'A fresh process, 20,000 requests to warm up, then 1,000 connections with one small RPC each.',
    upstream: 'nginx',
    contestants: ALL,
    isFresh: true,
    columns: [KB_PER_CONNECTION, MEMORY],
    targets: [
        {
            text: 'memory for each idle connection, KB',
            bound: 'at most',
            limit: 20,
            digits: 1,
            read: figure(SIDECAR_NAME, 'kbPerConnection'),
        },
    ],
    measure: measureIdle,
};
const BESIDE_POLLS = { kind: 'rpc', connections: 20, thinkMs: 100 };
async function measureHeld(turn) {
    const { pid, spot } = turn.running;
    const beforeMb = residentMb(pid);
    const clients = await connectMany(spot.port, HELD_POLLS);
    try {
        for (const [user, client] of clients.entries())
            client.send(pollRequest(user));
        // Their arrival is not what is measured.
        await untilHeld(spot.upstreamPort, HELD_POLLS);
        const sample = await measureLoad(turn, BESIDE_POLLS);
        return { ...sample, kbPerConnection: (((sample.rssMb ?? 0) - beforeMb) * KB_PER_MB) / HELD_POLLS };
    }
    finally {
        for (const client of clients)
            client.close();
    }
}
async function untilHeld(upstreamPort, count) {
    const deadlineMs = performance.now() + HOLD_TIMEOUT_MS;
    for (;;) {
        const held = (await (await fetch(`http://127.0.0.1:${upstreamPort}${HELD_COUNT_PATH}`)).json());
        if (held >= count)
            return;
        if (performance.now() > deadlineMs)
            throw new Error(`${held} of ${count} polls have reached the upstream`);
        await sleep(50);
    }
}
const HELD = {
    name: 'held',
    title: '2,000 held long polls, 200 RPC/s beside them',
    how: '2,000 connections wait for an answer to a `/meta/connect`; 20 others make a small RPC every 50 to 150 ms.',
    upstream: 'stand',
    contestants: ALL,
    isFresh: true,
    columns: [P50, P99, CPU, SIDECAR_TO_IT, PER_SECOND, KB_PER_CONNECTION, MEMORY],
    targets: [],
    measure: async (turn) => {
        await fill(turn.running.spot.port, fewNames(WARM_UP_REQUESTS));
        return measureHeld(turn);
    },
};
const START = {
    name: 'start',
    title: 'Start to listening',
    how: 'From the start of the process to the first accepted connection, looked for every 2 ms.',
    upstream: 'nginx',
    contestants: ALL,
    isFresh: true,
    columns: [column('startMs', 'ms', 0), MEMORY],
    targets: [
        { text: 'start to listening, ms', bound: 'at most', limit: 400, digits: 0, read: figure(SIDECAR_NAME, 'startMs') },
    ],
    measure: async ({ running }) => ({ startMs: running.startMs, rssMb: residentMb(running.pid) }),
};
export const CONNECTIONS = [IDLE, HELD, START];
