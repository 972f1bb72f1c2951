import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import type { CallObservers } from '../../measure/record/call-observer.ts';
import type { AccessLog, AccessLogOptions } from './access-log.ts';

/** How long closing waits for pending lines to be written. */
const CLOSE_MS = 1_000;

export interface AccessLoggingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observers: CallObservers;
}

/** Turns the access log on, off or over to other options, by configuration. Loads its code only when it is on. */
export class AccessLogging {
  /** Counters for /metrics. They stay when the access log is turned off and on; all zero if it was never on. */
  readonly counts = { written: 0, lost: 0, failures: 0, rotations: 0 };
  readonly #parts: AccessLoggingParts;
  #log: AccessLog | undefined;

  /** Never rejects: problems with the file are logged. */
  static async open(config: Config['accessLog'], parts: AccessLoggingParts): Promise<AccessLogging> {
    const logging = new AccessLogging(parts);
    (await logging.prepare(config))();
    return logging;
  }

  private constructor(parts: AccessLoggingParts) {
    this.#parts = parts;
  }

  get isOn(): boolean {
    return this.#log !== undefined;
  }

  get waitingBytes(): number {
    return this.#log?.waitingBytes ?? 0;
  }

  /** Call it after the file has been moved away, e.g. by logrotate. */
  reopen(): void {
    this.#log?.reopen();
  }

  /** Returns a function that applies the new configuration. */
  async prepare(config: Config['accessLog']): Promise<() => void> {
    const { file } = config;
    if (file === undefined) return () => this.#turnOff();
    const options = { ...config, file };
    const { AccessLog: Loaded } = await import('./access-log.ts');
    return () => this.#use(options, Loaded);
  }

  /** Writes pending lines, then closes the file. */
  async close(): Promise<void> {
    const log = this.#log;
    if (log === undefined) return;
    this.#parts.observers.remove(log);
    this.#log = undefined;
    await log.close(CLOSE_MS);
  }

  #use(options: AccessLogOptions, Loaded: typeof AccessLog): void {
    const { observers, clock, logger } = this.#parts;
    if (this.#log === undefined) this.#log = new Loaded(options, { clock, logger, counts: this.counts });
    else this.#log.reconfigure(options);
    // Added again, because `wantsOthers` may have changed.
    observers.remove(this.#log);
    observers.add(this.#log);
  }

  #turnOff(): void {
    void this.close();
  }
}
