/** `d2-sidecar learn`: a sidecar that listens to the Comet messages it passes on, and reports what it heard. */

import { type Clock, NS_PER_S } from '../base/clock.ts';
import { ConfigError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { formatLearnReport } from './learn/learn-report.ts';
import { Survey } from './learn/survey.ts';
import type { Output } from './output.ts';
import { type Servable, type ServeTask, serve } from './serve.ts';
import type { SignalSource } from './signal-queue.ts';

const PROGRESS_MS = 5_000;
const MS_PER_MINUTE = 60_000;

interface LearnParts {
  readonly config: Config;
  readonly minutes: number;
  /** Does not write to standard output, which is for the report. */
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signals: SignalSource;
  readonly output: Output;
  /** Creates a sidecar that reports to `survey`. */
  readonly createSidecar: (survey: Survey) => Promise<Servable>;
}

/**
 * Resolves to the exit code when the sidecar has stopped: after `minutes`, at a signal, or by `shutdown`. It always
 * prints the report, before it waits for open exchanges. Throws ConfigError without Comet, and what `serve` throws.
 */
export async function learn(parts: LearnParts): Promise<number> {
  const { config, logger, signals, createSidecar } = parts;
  if (!config.comet.enabled) throw new ConfigError('comet.enabled: got false, expected true: learn listens to Comet');
  const survey = new Survey(config.comet);
  const task = new LearnTask(survey, parts);
  try {
    return await serve({ config, logger, signals, createSidecar: () => createSidecar(survey), task });
  } finally {
    task.cancel();
  }
}

/** Limits the time in which the survey listens, and prints the report once. */
class LearnTask implements ServeTask {
  readonly #survey: Survey;
  readonly #parts: Pick<LearnParts, 'minutes' | 'clock' | 'output'>;
  #startedNs = 0;
  #timeout: NodeJS.Timeout | undefined;
  #progress: NodeJS.Timeout | undefined;

  constructor(survey: Survey, parts: Pick<LearnParts, 'minutes' | 'clock' | 'output'>) {
    this.#survey = survey;
    this.#parts = parts;
  }

  begin(listen: string, stop: (reason: string) => void): void {
    const { minutes, clock, output } = this.#parts;
    this.#startedNs = clock.nowNs();
    output.err(
      `d2-sidecar: learning for ${minutes} min from clients that connect to ${listen}; Ctrl-C ends it early\n`,
    );
    this.#timeout = setTimeout(stop, minutes * MS_PER_MINUTE, 'the learning time has ended');
    this.#progress = setInterval(() => this.#printProgress(), PROGRESS_MS);
  }

  end(): void {
    if (this.#timeout === undefined) return;
    this.cancel();
    this.#parts.output.out(formatLearnReport(this.#survey.finish(), this.#elapsedS()));
  }

  cancel(): void {
    clearTimeout(this.#timeout);
    clearInterval(this.#progress);
    this.#timeout = undefined;
  }

  #printProgress(): void {
    const { minutes, output } = this.#parts;
    const leftS = Math.max(0, Math.round(minutes * 60 - this.#elapsedS()));
    const messages = this.#survey.clientMessages + this.#survey.upstreamMessages;
    output.err(`d2-sidecar: learning, ${leftS} s left, ${messages} messages, ${this.#survey.channels} channels\n`);
  }

  #elapsedS(): number {
    return (this.#parts.clock.nowNs() - this.#startedNs) / NS_PER_S;
  }
}
