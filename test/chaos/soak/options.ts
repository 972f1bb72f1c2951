/** The command line of the soak. */
import { readOptions, toNumber } from '../../support/load/options.ts';

export const SOAK_USAGE = `npm run soak -- [options]
  --minutes M      how long (default 30); below 10 nothing is judged
  --help           this
`;

export function parseSoakOptions(args: readonly string[]) {
  const { minutes, help } = readOptions(SOAK_USAGE, args);
  return { minutes: toNumber('minutes', minutes, 30), isHelp: help !== undefined };
}
