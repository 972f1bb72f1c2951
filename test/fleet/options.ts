import { readOptions, toNames, toNumber } from '../support/load/options.ts';
import { STORES, type StoreName } from './stores.ts';

export const USAGE = `npm run fleet -- [options]
  --small N,N      stages with so many small sidecars (default 100,300,1000; 0: none)
  --full N,N       stages with so many full sidecars (default 30,100; 0: none)
  --minutes M      how long each stage takes (default 6)
  --interval S     seconds between two scrapes (default 15)
  --stores A,B     of prometheus, victoria (default both)
  --help           this
`;

export function parseOptions(args: readonly string[]) {
  const { small, full, minutes, interval, stores } = readOptions(USAGE, args);
  return {
    small: toCounts('small', small, [100, 300, 1_000]),
    full: toCounts('full', full, [30, 100]),
    minutes: toNumber('minutes', minutes, 6),
    intervalS: toNumber('interval', interval, 15),
    stores: (toNames('stores', stores, STORES) ?? STORES) as readonly StoreName[],
  };
}

function toCounts(name: string, text: string | undefined, fallback: readonly number[]): readonly number[] {
  if (text === '0') return [];
  return text?.split(',').map((each) => toNumber(name, each.trim(), 1)) ?? fallback;
}
