import { destination, type LoggerOptions, type Logger as PinoLogger, pino } from 'pino';

/** One line of JSON on standard output for each call. Never pass it a head, a header value, a body or a configuration. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'>;

const STANDARD_OUTPUT = 1;
const STANDARD_ERROR = 2;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** `to`: standard output unless something else is printed there. */
export function createLogger(level: LogLevel, to: 'stdout' | 'stderr' = 'stdout'): Logger {
  const options: LoggerOptions = {
    level,
    base: { name: 'd2-sidecar', pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  // Written at once: lines that another thread is still to write are tried for ever at the end if nobody reads them any more.
  return pino(options, destination({ dest: to === 'stdout' ? STANDARD_OUTPUT : STANDARD_ERROR, sync: true }));
}
