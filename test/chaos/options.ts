/** The command line of the chaos run. */
import { readOptions, toNumber } from '../support/load/options.ts';

export const USAGE = `npm run chaos -- [options]
  --seconds S      about how long (default 600)
  --short          60 s, as in CI
  --seed N         what happens follows from it (default: another one each time, printed)
  --help           this
`;

export function parseOptions(args: readonly string[], chance: () => number) {
  const { short, seconds, seed, help } = readOptions(USAGE, args);
  return {
    seed: toNumber('seed', seed, 1 + Math.floor(chance() * 1e8)),
    seconds: toNumber('seconds', seconds, short === undefined ? 600 : 60),
    isHelp: help !== undefined,
  };
}
