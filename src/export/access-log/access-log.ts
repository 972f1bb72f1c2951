/**
 * The access log: one line of JSON for each call, in a file of its own. Told of calls by the recorder (measure/record/call-observer.ts), of
 * which it takes those that are wanted, and knows neither sockets nor statistics. docs/access-log.md has the fields.
 */
import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import { type CallObserver, type EndedCall, toEpochMs } from '../../measure/record/call-observer.ts';
import { TimeText, toAccessLine } from './access-line.ts';
import { type LineCounts, LineFile, type LineFileOptions } from './line-file.ts';

/** Of a configuration that asks for one. */
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
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #file: LineFile;
  readonly #times = new TimeText();
  #options: AccessLogOptions;

  constructor(options: AccessLogOptions, { clock, logger, counts, random = Math.random }: AccessLogParts) {
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#file = new LineFile(toFileOptions(options), counts, logger);
  }

  get wantsOthers(): boolean {
    return this.#options.others;
  }

  get waitingBytes(): number {
    return this.#file.waitingBytes;
  }

  callEnded(call: EndedCall): void {
    if (this.#isWanted(call)) {
      this.#file.write(toAccessLine(call, this.#times.of(toEpochMs(this.#clock, call.endedNs)), this.#options.users));
    }
  }

  /** As `LineFile.reopen`. */
  reopen(): void {
    this.#file.reopen();
  }

  /** Whoever tells it of calls has to look at `wantsOthers` again. */
  reconfigure(options: AccessLogOptions): void {
    this.#options = options;
    this.#file.reconfigure(toFileOptions(options));
  }

  /** As `LineFile.close`. */
  async close(limitMs: number): Promise<void> {
    await this.#file.close(limitMs);
  }

  #isWanted(call: EndedCall): boolean {
    const { sample, slowerThanMs, errorsAlways } = this.#options;
    if (errorsAlways && isError(call)) return true;
    if (slowerThanMs > 0 && call.endedNs - call.beganNs <= slowerThanMs * NS_PER_MS) return false;
    return sample >= 1 || this.#random() < sample;
  }
}

/** As the statistics count errors: status 500 and above, or no answer. */
function isError({ outcome, status }: EndedCall): boolean {
  return outcome === 'failed' || (outcome === 'answered' && status >= 500);
}

function toFileOptions({ file, maxBytes, keep }: AccessLogOptions): LineFileOptions {
  return { path: file, maxBytes, keep };
}
