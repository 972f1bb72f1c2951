/** The command line of the soak. */
import { parseArgs } from 'node:util';
import { toNumber, toOneOf } from '../../support/load/options.ts';
import { DATA_PATHS, type DataPath } from '../run/weather.ts';

export interface SoakOptions {
  readonly minutes: number;
  /** Requests per second. */
  readonly rate: number;
  readonly polls: number;
  /** Share of aborted requests. */
  readonly aborts: number;
  /** Largest permitted rise of resident memory, in MB an hour. */
  readonly bound: number;
  readonly dataPath: DataPath;
  readonly sidecar: string | undefined;
  /** CSV file for the samples. */
  readonly csv: string | undefined;
  readonly help: boolean;
}

export const SOAK_USAGE = `npm run soak -- [options]
  --minutes M      how long (default 30); below 10 nothing is judged
  --rate R         requests a second (default 1000)
  --polls N        long polls held all the time (default 500)
  --aborts PERCENT how many of the requests are left by their clients (default 1)
  --bound MB       resident memory may rise by so much an hour behind the warm-up (default 1); exit code 1 above
  --path PATH      the sidecar's data path, auto or gateway (default auto)
  --sidecar FILE   main.js of the sidecar (default dist/main.js)
  --csv FILE       write all samples there
  --help           this
`;

/** Throws for unknown options. */
export function parseSoakOptions(args: readonly string[]): SoakOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string' },
      rate: { type: 'string' },
      polls: { type: 'string' },
      aborts: { type: 'string' },
      bound: { type: 'string' },
      path: { type: 'string' },
      sidecar: { type: 'string' },
      csv: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { path, sidecar, csv, help } = values;
  const number = (name: 'minutes' | 'rate' | 'polls' | 'aborts' | 'bound', fallback: number) =>
    toNumber(name, values[name], fallback, /^\d{1,6}(\.\d{1,3})?$/);
  return {
    minutes: number('minutes', 30),
    rate: number('rate', 1_000),
    polls: number('polls', 500),
    aborts: number('aborts', 1) / 100,
    bound: number('bound', 1),
    dataPath: toOneOf('path', DATA_PATHS, path) ?? 'auto',
    sidecar,
    csv,
    help,
  };
}
