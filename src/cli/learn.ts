/** `d2-sidecar learn`: a sidecar that listens to the Comet messages it passes on, and reports what it heard. */

import { type Clock, NS_PER_S } from '../base/clock.ts';
import { ConfigError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { toLearnReport } from './learn/learn-report.ts';
import { Survey } from './learn/survey.ts';
import type { Output } from './output.ts';
import { type Servable, serve } from './serve.ts';
import type { SignalSource } from './signal-queue.ts';
import type { StraySignalSource } from './stray-signals.ts';

const PROGRESS_MS = 5_000;
const MS_PER_MINUTE = 60_000;

export interface LearnParts {
  readonly config: Config;
  readonly minutes: number;
  /** Does not write to standard output, which is for the report. */
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signals: SignalSource & StraySignalSource;
  readonly output: Output;
  /** Creates a sidecar that reports to `survey`. */
  readonly createSidecar: (survey: Survey) => Promise<Servable>;
}

/**
 * Resolves to the exit code when the sidecar has stopped: after `minutes`, at a signal, or by `shutdown`. It always
 * prints the report, before it waits for open exchanges. Throws ConfigError without Comet, and what `serve` throws.
 */
export async function learn({ config, logger, signals, createSidecar, ...parts }: LearnParts): Promise<number> {
  if (!config.comet.enabled) throw new ConfigError('comet.enabled: got false, expected true: learn listens to Comet');
  const survey = new Survey(config.comet);
  const period = new LearningPeriod(survey, parts);
  const learning = async (): Promise<Servable> => {
    const sidecar = await createSidecar(survey);
    const life = sidecar.lifecycle;
    const stop = (reason: string): void => {
      period.end();
      life.stop(reason, true);
    };
    return {
      start: async () => {
        const bound = await sidecar.start();
        period.begin(bound.listen, () => stop('the learning time has ended'));
        return bound;
      },
      stop: () => sidecar.stop(),
      isReady: () => sidecar.isReady(),
      report: (includesUsers) => sidecar.report(includesUsers),
      dumpThreads: () => sidecar.dumpThreads(),
      top: () => sidecar.top(),
      lifecycle: {
        ended: life.ended,
        get state() {
          return life.state;
        },
        get leftMs() {
          return life.leftMs;
        },
        get inProgress() {
          return life.inProgress;
        },
        drain: () => life.drain(),
        stop,
      },
    };
  };
  try {
    return await serve({ config, logger, signals, createSidecar: learning });
  } finally {
    period.cancel();
  }
}

/** The time during which the survey listens. `end` prints the report, once. */
class LearningPeriod {
  readonly #survey: Survey;
  readonly #parts: Pick<LearnParts, 'minutes' | 'clock' | 'output'>;
  #beganNs = 0;
  #ending: NodeJS.Timeout | undefined;
  #progress: NodeJS.Timeout | undefined;
  #isOn = false;

  constructor(survey: Survey, parts: Pick<LearnParts, 'minutes' | 'clock' | 'output'>) {
    this.#survey = survey;
    this.#parts = parts;
  }

  begin(listen: string, onTimeOver: () => void): void {
    const { minutes, clock, output } = this.#parts;
    this.#isOn = true;
    this.#beganNs = clock.nowNs();
    output.err(
      `d2-sidecar: learning for ${minutes} min from clients that connect to ${listen}; Ctrl-C ends it early\n`,
    );
    this.#ending = setTimeout(onTimeOver, minutes * MS_PER_MINUTE);
    this.#progress = setInterval(() => this.#tellProgress(), PROGRESS_MS);
  }

  end(): void {
    if (!this.#isOn) return;
    this.cancel();
    this.#parts.output.out(toLearnReport(this.#survey.finish(), this.#elapsedS()));
  }

  cancel(): void {
    this.#isOn = false;
    clearTimeout(this.#ending);
    clearInterval(this.#progress);
  }

  #tellProgress(): void {
    const { minutes, output } = this.#parts;
    const leftS = Math.max(0, Math.round(minutes * 60 - this.#elapsedS()));
    const messages = this.#survey.clientMessages + this.#survey.upstreamMessages;
    output.err(`d2-sidecar: learning, ${leftS} s left, ${messages} messages, ${this.#survey.channels} channels\n`);
  }

  #elapsedS(): number {
    return (this.#parts.clock.nowNs() - this.#beganNs) / NS_PER_S;
  }
}
