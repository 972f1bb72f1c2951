import { once } from 'node:events';
import tls from 'node:tls';
import { RAW_RELAY, SIDECAR } from '../peers/node-peers.ts';
import { ALL_PEERS, TLS_PEERS } from '../peers/peers.ts';
import { difference, figure, type Read, ratio, type Sample } from '../results.ts';
import type { Running } from '../rig.ts';
import { fewNames, fill, firstCalls, MANY_CALLS, manyNames, UNEVEN_CALLS, unevenCalls } from '../small-client.ts';
import type { Load } from '../wrk.ts';
import type { Column, Contestant, Target, Turn, Workload } from './workload.ts';
import {
  atMost,
  CPU,
  MEMORY,
  measureLoad,
  P50,
  P99,
  PER_SECOND,
  SIDECAR_NAME,
  sidecarTo,
  toContestants,
} from './workload.ts';

const DIRECT: Contestant = { name: 'direct', title: 'direct (the upstream itself)', peer: undefined };
const EVERYBODY: readonly Contestant[] = [DIRECT, ...toContestants(ALL_PEERS)];
const SIDECAR_TO_IT: Column = { title: 'sidecar to it', digits: 2, read: (name) => sidecarTo(name, 'cpuUs') };
/** Added to the median of the upstream itself in the same round. */
const addedP50 = (name: string): Read => difference(figure(name, 'p50Ms'), figure('direct', 'p50Ms'));
const COLUMNS = [CPU, SIDECAR_TO_IT, PER_SECOND, P50, P99, MEMORY];
/** Long enough for a JIT to warm up. */
const WARM_UP_S = 2;
/** Before each measurement: during the turns of the others, V8 returned its young heap, which has to grow again. */
const LEAD_IN_S = 1;

type LoadParts = Pick<Workload, 'name' | 'title' | 'how'> & Partial<Workload> & { readonly load: Load };

function createLoad({ load, ...parts }: LoadParts): Workload {
  return {
    upstream: 'nginx',
    contestants: EVERYBODY,
    columns: COLUMNS,
    targets: [],
    prepare: (turn) => warmUp(turn, load),
    measure: (turn) => measureBehindLeadIn(turn, load),
    ...parts,
  };
}

/** Without pauses: the measured server has been running for long. */
async function warmUp(turn: Turn, { thinkMs: _, ...unpaced }: Load): Promise<void> {
  await measureLoad({ ...turn, seconds: WARM_UP_S }, unpaced);
}

async function measureBehindLeadIn(turn: Turn, load: Load, port?: number): Promise<Sample> {
  await measureLoad({ ...turn, seconds: LEAD_IN_S }, load, port);
  return await measureLoad(turn, load, port);
}

function cpuTarget(other: string, text: string, limit: number, load = 'small RPC'): Target {
  return atMost(limit, `${load}: processor time to ${text}`, sidecarTo(other, 'cpuUs'));
}

function throughputTarget(text: string): Target {
  const target = atMost(0.85, `${text}: throughput to the raw TCP relay`, sidecarTo('raw-relay', 'perSecond'));
  return { ...target, bound: 'at least' };
}

/** A measuring peer must have counted calls, another peer none. */
async function inspectCount({ contestant: { peer }, running }: Turn): Promise<void> {
  if (peer?.countCalls === undefined) return;
  const counted = await peer.countCalls(running.spot);
  if (peer.isMeasuring !== counted > 0)
    throw new Error(`has counted ${counted} calls; its numbers are not what they are said to be`);
}

const RPC_LOAD: Load = { kind: 'rpc', connections: 64 };
const TLS_LOAD: Load = { ...RPC_LOAD, isSecure: true };
const PLANT_USERS = 300;
const PLANT_LOAD: Load = { kind: 'plant', connections: 64, users: PLANT_USERS, names: 500, each: 30 };
const FEW: Load = { ...RPC_LOAD, users: 10, names: 10 };
const MANY: Load = { ...RPC_LOAD, users: 10_000, names: 2_000 };
const NAMES_LOADS: Readonly<Record<string, Load>> = { few: FEW, many: MANY, 'raw-few': FEW, 'raw-many': MANY };
const loadOf = ({ contestant }: Turn): Load => NAMES_LOADS[contestant.name] ?? RPC_LOAD;

/** By the process id of the contestant behind it. */
const fronts = new Map<number, Promise<Running>>();

function frontOf({ rig, running: { pid, spot } }: Turn): Promise<Running> {
  const front = fronts.get(pid) ?? rig.startFront(spot.port);
  fronts.set(pid, front);
  return front;
}

/** The one that OpenSSL prefers, so that all peers have the same. */
const TLS_CIPHER = 'TLS_AES_256_GCM_SHA384';

async function inspectCipher({ running }: Turn): Promise<void> {
  const socket = tls.connect({ host: '127.0.0.1', port: running.spot.port, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { standardName } = socket.getCipher();
  socket.destroy();
  if (standardName !== TLS_CIPHER) throw new Error(`has the cipher ${standardName}, expected ${TLS_CIPHER} as of all`);
}

export const LOADS: readonly Workload[] = [
  createLoad({
    name: 'rpc',
    title: 'Small RPC',
    how: 'POST of 84 bytes, answered with 87, over 64 connections that are kept: 10 RPCs, 10 users.',
    load: RPC_LOAD,
    targets: [
      cpuTarget('raw-relay', 'the raw TCP relay in Node', 1.15),
      cpuTarget('nginx-lua', 'nginx + Lua', 1.2),
      cpuTarget('http-proxy', 'plain http-proxy', 0.25),
      cpuTarget('caddy', 'caddy with metrics', 0.3),
      cpuTarget('sidecar-unmeasured', 'the same sidecar with measuring off', 1.15),
    ],
    inspect: inspectCount,
  }),
  createLoad({
    name: 'plant',
    title: 'Large plant',
    how: 'The calls of a large plant as fast as they go, over 64 connections that are kept: 300 users with a login cookie, two small RPCs of 500 and a read of one of 3,000 objects in turn.',
    load: PLANT_LOAD,
    targets: [cpuTarget('raw-relay', 'the raw TCP relay in Node', 1.15, 'large plant')],
    prepare: async (turn) => {
      // A password that only ever comes with a cookie proves no user, so each user's first call has none.
      await fill(turn.running.spot.port, firstCalls(PLANT_USERS));
      await warmUp(turn, PLANT_LOAD);
    },
    inspect: inspectCount,
  }),
  {
    name: 'names',
    title: 'Many names and sessions',
    how: 'The small RPC, by 10 users of 10 RPCs, and by 10,000 users of 2,000 RPCs, ten for each user, made twice before and then up to 63 more times by each user; few names as often. The raw relay keeps no tables: what it needs more is the load itself.',
    upstream: 'nginx',
    contestants: [
      { name: 'few', title: 'sidecar, 10 names and 10 sessions', peer: SIDECAR },
      { name: 'many', title: 'sidecar, 2,000 names and 10,000 sessions', peer: SIDECAR },
      { name: 'raw-few', title: 'raw TCP relay in Node, 10 and 10', peer: RAW_RELAY },
      { name: 'raw-many', title: 'raw TCP relay in Node, 2,000 and 10,000', peer: RAW_RELAY },
    ],
    columns: [CPU, PER_SECOND, P50, P99, MEMORY],
    targets: [
      atMost(
        1.1,
        'small RPC: processor time with 2,000 names and 10,000 sessions, to 10 and 10',
        ratio(figure('many', 'cpuUs'), figure('few', 'cpuUs')),
      ),
    ],
    prepare: async (turn) => {
      // As many calls for few names as for many: otherwise one process would be compiled and warmed up further.
      const { port } = turn.running.spot;
      if (turn.contestant.name === 'many') {
        await fill(port, manyNames());
        await fill(port, unevenCalls());
      } else if (turn.contestant.name === 'few') await fill(port, fewNames(MANY_CALLS + UNEVEN_CALLS));
      await warmUp(turn, loadOf(turn));
    },
    measure: (turn) => measureBehindLeadIn(turn, loadOf(turn)),
  },
  createLoad({
    name: 'rate',
    title: 'Small RPC, 1,000 each second',
    how: '100 connections, each with a pause of 50 to 150 ms before its next request, after 2 s without pauses: what a peer adds when it is not busy.',
    load: { kind: 'rpc', connections: 100, thinkMs: 100 },
    columns: [{ title: 'added p50 ms', digits: 3, read: addedP50 }, P50, P99, CPU, SIDECAR_TO_IT, PER_SECOND],
    targets: [
      atMost(
        1.5,
        '1,000 requests/s: added p50, to what haproxy adds',
        ratio(addedP50(SIDECAR_NAME), addedP50('haproxy')),
      ),
    ],
  }),
  createLoad({
    name: 'answer1m',
    title: 'SBA, 1 MB down',
    how: 'GET over 16 connections.',
    load: { kind: 'answer1m', connections: 16 },
    targets: [throughputTarget('1 MB down')],
  }),
  createLoad({
    name: 'upload1m',
    title: 'SBA, 1 MB up',
    how: 'POST over 16 connections, read to its end by the upstream before it answers.',
    upstream: 'stand',
    load: { kind: 'upload', connections: 16 },
    targets: [throughputTarget('1 MB up')],
  }),
  createLoad({
    name: 'close',
    title: 'A connection for each request',
    how: 'The small RPC with `Connection: close`, 64 at a time.',
    load: { ...RPC_LOAD, close: 1 },
    targets: [cpuTarget('raw-relay', 'the raw TCP relay in Node', 1.3, 'a connection for each request')],
  }),
  {
    name: 'front',
    title: 'Behind a default nginx',
    how: 'The small RPC through an nginx in its default form: HTTP/1.0 with a connection for each request. Processor time of what stands behind it.',
    upstream: 'nginx',
    contestants: toContestants(ALL_PEERS),
    columns: COLUMNS,
    targets: [cpuTarget('raw-relay', 'the raw TCP relay in Node', 1.3, 'behind a default nginx')],
    measure: async (turn) => await measureBehindLeadIn(turn, RPC_LOAD, (await frontOf(turn)).spot.port),
  },
  createLoad({
    name: 'tls',
    title: 'Small RPC with TLS',
    how: 'The small RPC with TLS 1.3 to the client, over 64 connections that are kept; plain HTTP to the upstream.',
    load: TLS_LOAD,
    contestants: toContestants(TLS_PEERS),
    inspect: inspectCipher,
    targets: [cpuTarget('nginx', 'nginx', 1.5, 'small RPC with TLS')],
  }),
  createLoad({
    name: 'tls-close',
    title: 'A TLS connection for each request',
    how: 'The same with `Connection: close`: a full handshake with an RSA key of 2048 bits for each request.',
    load: { ...TLS_LOAD, close: 1 },
    contestants: toContestants(TLS_PEERS),
    inspect: inspectCipher,
  }),
];
