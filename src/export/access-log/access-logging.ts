import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import type { CallObservers } from '../../measure/record/call-observer.ts';
import type { AccessLog, AccessLogOptions } from './access-log.ts';

/** How long the end waits for lines to be written. */
const CLOSE_MS = 1_000;

export interface AccessLoggingParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly observers: CallObservers;
}

/** The access log as the configuration wants it at the time: none, one, or another one. Where it is off it is not even loaded. */
export class AccessLogging {
  /** As /metrics shows them; all zero without an access log. They outlive that it is turned off and on. */
  readonly counts = { written: 0, lost: 0, failures: 0, rotations: 0 };
  readonly #parts: AccessLoggingParts;
  #log: AccessLog | undefined;

  /** Never rejects: what is wrong with the file is told in the log. */
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

  /** Its file has been moved away, e.g. by logrotate. */
  reopen(): void {
    this.#log?.reopen();
  }

  /** What takes another configuration over. */
  async prepare(config: Config['accessLog']): Promise<() => void> {
    const { file } = config;
    if (file === undefined) return () => this.#turnOff();
    const options = { ...config, file };
    const { AccessLog: Loaded } = await import('./access-log.ts');
    return () => this.#use(options, Loaded);
  }

  /** Writes what waits. */
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
    // Again, since it may want to be told of more now.
    observers.remove(this.#log);
    observers.add(this.#log);
  }

  #turnOff(): void {
    void this.close();
  }
}
