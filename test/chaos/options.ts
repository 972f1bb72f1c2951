import { readOptions, toNumber } from '../support/load/options.ts';

export const USAGE = `npm run chaos -- [options]
  --seconds S      about how long (default 600)
  --short          60 s, as in CI
  --seed N         what happens follows from it (default: another one each time, printed)
  --help           this
`;

export function parseOptions(args: readonly string[]) {
  const { short, seconds, seed } = readOptions(USAGE, args);
  return {
    seed: toNumber('seed', seed, 1 + Math.floor(Math.random() * 1e8)),
    seconds: toNumber('seconds', seconds, short === undefined ? 600 : 60),
  };
}

export const SOAK_USAGE = `npm run soak -- [options]
  --minutes M      how long (default 30); below 10 nothing is judged
  --help           this
`;

export function parseSoakOptions(args: readonly string[]) {
  return { minutes: toNumber('minutes', readOptions(SOAK_USAGE, args).minutes, 30) };
}
