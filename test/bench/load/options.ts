import { readOptions, toNames, toNumber } from '../../support/load/options.ts';
import { ALL_PEERS } from './peers/peers.ts';
import { COMET } from './workloads/comet.ts';
import { CONNECTIONS } from './workloads/connections.ts';
import { LOADS } from './workloads/loads.ts';
import { TABLES } from './workloads/tables.ts';
import type { Workload } from './workloads/workload.ts';

export const ALL_WORKLOADS: readonly Workload[] = [...LOADS, ...CONNECTIONS, ...TABLES, COMET];

const PEERS = ['direct', ...ALL_PEERS.map(({ name }) => name)];
const WORKLOADS = ALL_WORKLOADS.map(({ name }) => name);

export const USAGE = `npm run bench -- [options]
  --rounds N          measurements of each peer in each workload (default 7)
  --seconds S         length of one measurement (default 3)
  --only a,b          only these peers
  --workload x,y      only these workloads
  --markdown FILE     write the tables there as well
  --short             20 s: sidecar and plain http-proxy; exit code 1 when their ratio is above 0.5
  --help              this

BENCH_AGAINST=FILE compares with another build, FILE being its dist/main.js or executable.

peers: ${PEERS.join(', ')}
workloads: ${WORKLOADS.join(', ')}
`;

export type Options = ReturnType<typeof parseOptions>;

/** Throws for unknown options and names, and numbers that are not whole and positive. */
export function parseOptions(args: readonly string[]) {
  const { rounds, seconds, only, workload, markdown, short } = readOptions(USAGE, args);
  const isShort = short !== undefined;
  return {
    rounds: toNumber('rounds', rounds, isShort ? 3 : 7),
    seconds: toNumber('seconds', seconds, isShort ? 2 : 3),
    /** Names of the peers; undefined: all. */
    only: toNames('only', only, PEERS) ?? (isShort ? ['sidecar', 'http-proxy'] : undefined),
    workloads: toNames('workload', workload, WORKLOADS) ?? (isShort ? ['rpc'] : WORKLOADS),
    markdown,
    isShort,
  };
}
