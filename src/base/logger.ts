import { type LoggerOptions, type Logger as PinoLogger, pino } from 'pino';
import { LogOutput } from './log-output.ts';
import { counter, type MetricDescription } from './metric-description.ts';
import { escapeHidden } from './shown-text.ts';

/** Writes one line of JSON per call to standard output. Never pass it a head, header value, body or configuration. */
export type Logger = Pick<PinoLogger, 'debug' | 'info' | 'warn' | 'error'>;

const silent = () => undefined;
/** For work whose errors say everything. */
export const SILENT: Logger = { debug: silent, info: silent, warn: silent, error: silent };

export interface LeveledLogger extends Logger {
  level: string;
  /** Lines dropped because nobody read the pipe or the disk was full. */
  readonly lostLines: number;
  readonly recent: LogRing;
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/** `output`: standard output, unless the command prints something else there. */
export function createLogger(level: LogLevel, output: LogOutput = standardOutput()): LeveledLogger {
  const options: LoggerOptions = {
    level,
    base: { name: 'd2-sidecar', pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  // pino's own destinations either block on the reader of a pipe, or retry forever once that reader has gone.
  const recent = new LogRing();
  const write = (text: string) => {
    const line = escapeHidden(text);
    recent.add(line);
    output.write(line);
  };
  const logger = pino(options, { write });
  output.onRecovered = (lost) => logger.warn({ lost }, 'log lines were lost: they could not be written');
  const own = { lostLines: { get: () => output.lostLines }, recent: { value: recent } };
  return Object.defineProperties(logger, own) as typeof logger & LeveledLogger;
}

export function standardOutput(): LogOutput {
  return new LogOutput(1, () => process.stdout);
}

export function standardError(): LogOutput {
  return new LogOutput(2, () => process.stderr);
}

export const LOG_METRICS: readonly MetricDescription<Partial<LeveledLogger>>[] = [
  counter('d2_sidecar_log_lines_lost_total', 'Log lines lost: no reader, or a full disk.', 'lostLines'),
];

const MAX_LINES = 200;
const MAX_LINE_CHARS = 4_096;

/** Prefixes of the lines to keep: the level comes first. */
const KEPT = ['{"level":"warn"', '{"level":"error"'];

/** The last warnings and errors of this program's log, for `d2-sidecar report`, in case the log itself is gone. */
export class LogRing {
  /** The lines without their line feeds, as JSON texts, oldest first. A long line is cut and becomes a JSON string. */
  readonly lines: string[] = [];
  dropped = 0;

  add(line: string): void {
    if (!KEPT.some((prefix) => line.startsWith(prefix))) return;
    this.lines.push(
      line.length > MAX_LINE_CHARS ? JSON.stringify(`${line.slice(0, MAX_LINE_CHARS)}…`) : line.trimEnd(),
    );
    if (this.lines.length <= MAX_LINES) return;
    this.lines.shift();
    this.dropped += 1;
  }
}
