/** The command line of the soak. */
import { parseArgs } from 'node:util';
import { toOneOf } from '../options.ts';
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
  return {
    minutes: toNumber('minutes', values.minutes, 30),
    rate: toNumber('rate', values.rate, 1_000),
    polls: toNumber('polls', values.polls, 500),
    aborts: toNumber('aborts', values.aborts, 1) / 100,
    bound: toNumber('bound', values.bound, 1),
    dataPath: toOneOf('path', DATA_PATHS, values.path) ?? 'auto',
    sidecar: values.sidecar,
    csv: values.csv,
    help: values.help,
  };
}

function toNumber(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  if (!/^\d{1,6}(\.\d{1,3})?$/.test(text)) throw new Error(`--${name}: got ${text}, expected a number`);
  return Number(text);
}
