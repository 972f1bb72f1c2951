/** The command line of the load benchmarks. */
import { parseArgs } from 'node:util';

export interface Options {
  readonly rounds: number;
  /** Length of one measurement. */
  readonly seconds: number;
  /** Names of peers and workloads to run; undefined: all. */
  readonly only: readonly string[] | undefined;
  readonly workloads: readonly string[] | undefined;
  /** `dist/main.js` of an older build, which takes part as the peer `old`. */
  readonly old: string | undefined;
  /** File that gets the tables as well. */
  readonly markdown: string | undefined;
  /** Sidecar and plain http-proxy only; fails on gross loss. */
  readonly short: boolean;
  readonly help: boolean;
}

export const USAGE = `npm run bench -- [options]
  --rounds N          measurements of each peer in each workload (default 7)
  --seconds S         length of one measurement (default 3)
  --only a,b          only these peers
  --workload x,y      only these workloads
  --old FILE          also an older build of the sidecar, by its dist/main.js, as the peer "old"
  --markdown FILE     write the tables there as well
  --short             20 s: sidecar and plain http-proxy; exit code 1 when their ratio is above 0.5
  --help              this, and the names of peers and workloads
`;

/** Throws for unknown options, and numbers that are not whole and positive. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      only: { type: 'string' },
      workload: { type: 'string' },
      old: { type: 'string' },
      markdown: { type: 'string' },
      short: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { short } = values;
  return {
    rounds: toCount('rounds', values.rounds, short ? 3 : 7),
    seconds: toCount('seconds', values.seconds, short ? 2 : 3),
    only: toNames(values.only) ?? (short ? ['sidecar', 'http-proxy'] : undefined),
    workloads: toNames(values.workload) ?? (short ? ['rpc'] : undefined),
    old: values.old,
    markdown: values.markdown,
    short,
    help: values.help,
  };
}

function toCount(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  // wrk accepts whole seconds only.
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Error(`--${name}: got ${text}, expected a whole number from 1 to 9999`);
  return Number(text);
}

function toNames(text: string | undefined): string[] | undefined {
  return text?.split(',').map((name) => name.trim());
}
