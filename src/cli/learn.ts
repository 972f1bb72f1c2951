/** `d2-sidecar learn`: a sidecar that listens to the Comet messages it passes on, and reports what it heard. */

import { type Clock, NS_PER_S } from '../base/clock.ts';
import { ConfigError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import type { Life } from '../sidecar/lifecycle.ts';
import { toReport } from './learn/report.ts';
import { Survey } from './learn/survey.ts';
import type { Output } from './output.ts';
import { type Servable, serve } from './serve.ts';
import type { SignalSource } from './stop-signals.ts';

const PROGRESS_MS = 5_000;
const MS_PER_MINUTE = 60_000;

export interface LearnParts {
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
 * Resolves to the exit code when the sidecar has stopped: after the time, at a signal, or by `shutdown`. It prints the
 * report in any case, before it waits for open exchanges. Throws ConfigError without Comet, and what `serve` throws.
 */
export async function learn({ config, logger, signals, createSidecar, ...parts }: LearnParts): Promise<number> {
  if (!config.comet.enabled) throw new ConfigError('comet.enabled: got false, expected true: learn listens to Comet');
  const survey = new Survey(config.comet);
  const lesson = new Lesson(survey, parts);
  const stop = new StopSignal(signals);
  const learning = async (): Promise<Servable> => {
    const sidecar = await createSidecar(survey);
    return {
      start: async () => {
        const bound = await sidecar.start();
        lesson.begin(bound.listen, () => stop.raise());
        return bound;
      },
      stop: () => sidecar.stop(),
      isReady: () => sidecar.isReady(),
      lifecycle: new LessonLife(sidecar.lifecycle, lesson),
    };
  };
  try {
    return await serve({ config, logger, signals: stop, createSidecar: learning });
  } finally {
    lesson.cancel();
  }
}

/** Ends the lesson when the sidecar is asked to stop, before it waits for anything. */
class LessonLife implements Life {
  readonly ended: Life['ended'];
  readonly #life: Life;
  readonly #lesson: Lesson;

  constructor(life: Life, lesson: Lesson) {
    this.ended = life.ended;
    this.#life = life;
    this.#lesson = lesson;
  }

  get state() {
    return this.#life.state;
  }

  get leftMs() {
    return this.#life.leftMs;
  }

  get underway() {
    return this.#life.underway;
  }

  drain(): void {
    this.#life.drain();
  }

  stop(reason: string): void {
    this.#lesson.end();
    this.#life.stop(this.#lesson.isTimeOver ? 'the time to learn is over' : reason, true);
  }
}

class Lesson {
  readonly #survey: Survey;
  readonly #parts: Pick<LearnParts, 'minutes' | 'clock' | 'output'>;
  #beganNs = 0;
  #ending: NodeJS.Timeout | undefined;
  #progress: NodeJS.Timeout | undefined;
  #isOn = false;
  #isTimeOver = false;

  constructor(survey: Survey, parts: Pick<LearnParts, 'minutes' | 'clock' | 'output'>) {
    this.#survey = survey;
    this.#parts = parts;
  }

  get isTimeOver(): boolean {
    return this.#isTimeOver;
  }

  begin(listen: string, onTimeOver: () => void): void {
    const { minutes, clock, output } = this.#parts;
    this.#isOn = true;
    this.#beganNs = clock.nowNs();
    output.err(
      `d2-sidecar: learning for ${minutes} min from clients that connect to ${listen}; Ctrl-C ends it earlier\n`,
    );
    this.#ending = setTimeout(() => {
      this.#isTimeOver = true;
      onTimeOver();
    }, minutes * MS_PER_MINUTE);
    this.#progress = setInterval(() => this.#tellProgress(), PROGRESS_MS);
  }

  end(): void {
    if (!this.#isOn) return;
    this.cancel();
    this.#parts.output.out(toReport(this.#survey.finish(), this.#elapsedS()));
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

/** The signals of the process, with the end of the lesson as one more SIGTERM. */
class StopSignal implements SignalSource {
  readonly #signals: SignalSource;
  readonly #listeners = new Set<() => void>();

  constructor(signals: SignalSource) {
    this.#signals = signals;
  }

  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): void {
    if (signal === 'SIGTERM') this.#listeners.add(listener);
    this.#signals.on(signal, listener);
  }

  off(signal: 'SIGTERM' | 'SIGINT', listener: () => void): void {
    this.#listeners.delete(listener);
    this.#signals.off(signal, listener);
  }

  raise(): void {
    for (const listener of this.#listeners) listener();
  }
}
