import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { counter, gauge, type MetricDescription } from '../../base/metric-description.ts';
import type { Config } from '../../config/config.ts';
import type { CallObservers } from '../../measure/record/call-observer.ts';
import type { AccessLog, AccessLogOptions } from './access-log.ts';

/** How long closing waits for pending lines to be written. */
const CLOSE_MS = 1_000;

interface AccessLoggingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observers: CallObservers;
}

export type AccessLogging = Awaited<ReturnType<typeof openAccessLogging>>;

/**
 * Turns the access log on or off, or changes its options. Loads its code only when it is on. Never rejects: problems
 * with the file are logged.
 */
export async function openAccessLogging(initial: Config['accessLog'], parts: AccessLoggingParts) {
  const { observers, clock, logger } = parts;
  /** They survive turning the access log off and on; all are zero if it was never on. */
  const counts = { written: 0, lost: 0, failures: 0, rotations: 0 };
  let log: AccessLog | undefined;
  let closing: Promise<unknown> = Promise.resolve();
  const logging = {
    counts,
    /** For /metrics; undefined while it is off. */
    get numbers() {
      return log && { ...counts, waitingBytes: log.file.waitingBytes };
    },
    /** Call it after the file has been moved away, e.g. by logrotate. */
    reopen: () => log?.file.reopen(),
    /** Returns a function that applies the new configuration. */
    async prepareReload(config: Config['accessLog']): Promise<() => void> {
      const { file } = config;
      if (file === undefined) return () => void logging.close();
      const options: AccessLogOptions = { ...config, file };
      const { AccessLog: Loaded } = await import('./access-log.ts');
      return () => {
        if (log === undefined) log = new Loaded(options, clock, logger, counts);
        else log.reconfigure(options);
        // Added again, because `wantsOthers` may have changed.
        observers.remove(log);
        observers.add(log);
      };
    },
    /** Writes pending lines, then closes the file, and any file that an earlier reload turned off. */
    async close(): Promise<void> {
      if (log !== undefined) {
        observers.remove(log);
        closing = Promise.all([closing, log.file.close(CLOSE_MS)]);
        log = undefined;
      }
      await closing;
    },
  };
  (await logging.prepareReload(initial))();
  return logging;
}

export const ACCESS_LOG_METRICS: readonly MetricDescription<NonNullable<AccessLogging['numbers']>>[] = [
  counter('d2_sidecar_access_log_lines_total', 'Lines written to the access log.', 'written'),
  counter('d2_sidecar_access_log_lost_lines_total', 'Lost lines: unwritable file, or slow reader.', 'lost'),
  counter('d2_sidecar_access_log_failures_total', 'Failures to open, write or rename the access log.', 'failures'),
  counter('d2_sidecar_access_log_rotations_total', 'Rotations of the access log by size.', 'rotations'),
  gauge('d2_sidecar_access_log_waiting_bytes', 'Bytes that wait for the access log.', 'waitingBytes'),
];
