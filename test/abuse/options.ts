/** The command line of the abuse run. */
import { parseArgs } from 'node:util';
import { toNumber } from '../support/load/options.ts';
import { FLOODS } from './floods/all-floods.ts';
import type { Flood } from './floods/flood.ts';

export interface Options {
  readonly isShort: boolean;
  readonly floods: readonly Flood[];
  /** The sidecar's main.js; undefined: the one in dist/. */
  readonly sidecar: string | undefined;
  /** Number of retries of a flood that missed a bound. */
  readonly retries: number;
  readonly list: boolean;
  readonly help: boolean;
}

export const USAGE = `npm run abuse -- [options]
  --short          a few seconds for each flood and eight times the bounds for delays, as in CI; one that misses a bound is tried once more
  --flood A,B      only these floods
  --list           the floods, and what each of them does
  --retries N      how often a flood that missed a bound is tried again (default 0; 1 with --short)
  --sidecar FILE   main.js of the sidecar (default dist/main.js)
  --help           this

Exit code 1 when a bound was missed.
`;

/** Throws for unknown options and floods. */
export function parseOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      short: { type: 'boolean', default: false },
      flood: { type: 'string', multiple: true },
      list: { type: 'boolean', default: false },
      retries: { type: 'string' },
      sidecar: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { short: isShort, flood, list, sidecar, help } = values;
  const retries = toNumber('retries', values.retries, isShort ? 1 : 0, /^\d$/);
  const floods = flood?.flatMap((names) => names.split(',')).map(findFlood) ?? FLOODS;
  return { isShort, floods, sidecar, retries, list, help };
}

function findFlood(name: string): Flood {
  const flood = FLOODS.find((one) => one.name === name);
  if (flood !== undefined) return flood;
  throw new Error(`--flood: got ${name}, expected one of ${FLOODS.map((one) => one.name).join(', ')}`);
}
