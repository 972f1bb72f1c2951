/** The command line of the chaos run. */
import { parseArgs } from 'node:util';
import { toNumber, toOneOf } from '../support/load/options.ts';
import { DATA_PATHS, type DataPath } from './run/weather.ts';
import { LIE_KINDS, type LieKind } from './upstream/lies.ts';

export interface Options {
  readonly seed: number;
  readonly seconds: number;
  readonly clients: number;
  /** The sidecar's main.js; undefined: the one in dist/. */
  readonly sidecar: string | undefined;
  readonly lie: LieKind | undefined;
  /** Undefined: both, alternating. */
  readonly dataPath: DataPath | undefined;
  readonly help: boolean;
}

export const USAGE = `npm run chaos -- [options]
  --seconds S      how long, about (default 600)
  --short          60 s, as in CI
  --seed N         what happens follows from it (default: another one each time, printed)
  --clients N      how many (default 200): 45 % REST, 40 % long-polling, 15 % WebSockets
  --sidecar FILE   main.js of the sidecar (default dist/main.js)
  --path PATH      every life with this data path, auto or gateway (default: now the one, now the other)
  --lie KIND       the upstream does one wrong thing, which must be noticed: ${LIE_KINDS.join(', ')}
  --help           this
`;

/** Throws for unknown options. `chance` makes the default seed. */
export function parseOptions(args: readonly string[], chance: () => number): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string' },
      short: { type: 'boolean', default: false },
      seed: { type: 'string' },
      clients: { type: 'string' },
      sidecar: { type: 'string' },
      lie: { type: 'string' },
      path: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { short, seconds, sidecar, help } = values;
  return {
    seed: toNumber('seed', values.seed, Math.floor(chance() * 1e9)),
    seconds: toNumber('seconds', seconds, short ? 60 : 600),
    clients: toNumber('clients', values.clients, 200),
    sidecar,
    lie: toOneOf('lie', LIE_KINDS, values.lie),
    dataPath: toOneOf('path', DATA_PATHS, values.path),
    help,
  };
}
