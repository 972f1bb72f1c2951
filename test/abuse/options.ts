import { readOptions, toNames, toNumber } from '../support/load/options.ts';
import { FLOODS } from './floods/all-floods.ts';

export const USAGE = `npm run abuse -- [options]
  --short          a few seconds for each flood and eight times the bounds for delays, as in CI
  --flood A,B      only these floods
  --generate       no floods, but a ranking of all kinds of pieces by what they cost
  --minutes N      how long to generate, 1 by default
  --list           the floods, and what each of them does
  --help           this

Exit code 1 when a bound was missed.
`;

export function parseOptions(args: readonly string[]) {
  const { short, flood, list, generate, minutes } = readOptions(USAGE, args);
  const known = FLOODS.map(({ name }) => name);
  const names = toNames('flood', flood, known) ?? known;
  const floods = FLOODS.filter(({ name }) => names.includes(name));
  const generateMinutes = generate === undefined ? undefined : toNumber('minutes', minutes, 1);
  return { isShort: short !== undefined, floods, isList: list !== undefined, generateMinutes };
}
