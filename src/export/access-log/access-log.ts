/**
 * The access log: one line of JSON for each call, in its own file. The recorder reports ended calls to it
 * (measure/record/call-observer.ts), and it writes those that the configuration selects. It must not know sockets
 * or statistics. docs/access-log.md has the fields.
 */
import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { type CallObserver, type EndedCall, isError, toEpochMs } from '../../measure/record/call-observer.ts';
import { formatAccessLine } from './access-line.ts';
import { type LineCounts, LineFile } from './line-file.ts';

/** The `accessLog` section when its `file` is set. */
export type AccessLogOptions = Config['accessLog'] & { readonly file: string };

export interface AccessLogParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly counts: LineCounts;
  /** From 0 to below 1; default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

export class AccessLog implements CallObserver {
  readonly wantsBytes = true;
  readonly file: LineFile;
  readonly #clock: Clock;
  readonly #random: () => number;
  #options: AccessLogOptions;

  constructor(options: AccessLogOptions, { clock, logger, counts, random = Math.random }: AccessLogParts) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.file = new LineFile(options, counts, logger);
  }

  get wantsOthers(): boolean {
    return this.#options.others;
  }

  callEnded(call: EndedCall): void {
    if (this.#isWanted(call)) {
      const time = new Date(toEpochMs(this.#clock, call.endedNs)).toISOString();
      this.file.write(formatAccessLine(call, time, this.#options.users));
    }
  }

  /** The caller has to read `wantsOthers` again. */
  reconfigure(options: AccessLogOptions): void {
    this.#options = options;
    this.file.reconfigure(options);
  }

  #isWanted(call: EndedCall): boolean {
    const { sample, slowerThanMs, errorsAlways } = this.#options;
    if (errorsAlways && isError(call)) return true;
    if (slowerThanMs > 0 && call.durationNs <= slowerThanMs * NS_PER_MS) return false;
    return sample >= 1 || this.#random() < sample;
  }
}
