import { type Logger as PinoLogger, pino } from 'pino';

/** One line of JSON on standard output for each call. Never pass it a head, a header value, a body or a configuration. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'>;

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export function createLogger(level: LogLevel): Logger {
  return pino({
    level,
    base: { name: 'd2-sidecar', pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  });
}
