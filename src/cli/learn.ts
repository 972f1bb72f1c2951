/** `d2-sidecar learn`: a sidecar that listens to the Comet messages it passes on, and reports what it heard. */
import { type Clock, NS_PER_S } from '../base/clock.ts';
import { ConfigError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { formatLearnReport } from './learn/learn-report.ts';
import { Survey } from './learn/survey.ts';
import type { Output } from './output.ts';
import { type Servable, type ServeTask, type SignalSource, serve } from './serve.ts';

const PROGRESS_MS = 5_000;
const S_PER_MINUTE = 60;

interface LearnParts {
  readonly config: Config;
  readonly minutes: number;
  /** Does not write to standard output, which is for the report. */
  readonly logger: Logger;
  readonly clock: Clock;
  readonly signals: SignalSource;
  readonly output: Output;
  readonly createSidecar: (survey: Survey) => Promise<Servable>;
}

/**
 * Resolves to the exit code when the sidecar has stopped: after `minutes`, at a signal, or by `shutdown`. It always
 * prints the report, before it waits for open exchanges. Throws ConfigError without Comet, and what `serve` throws.
 */
export async function learn(parts: LearnParts): Promise<number> {
  const { config, minutes, logger, clock, signals, output, createSidecar } = parts;
  if (!config.comet.enabled) throw new ConfigError('comet.enabled: got false, expected true: learn listens to Comet');
  const survey = new Survey(config.comet);
  const tell = (text: string) => output.err(`d2-sidecar: ${text}\n`);
  let elapsedS = () => 0;
  let timeout: NodeJS.Timeout | undefined;
  let state = () => 'learning';
  let sidecar: Servable | undefined;
  const task: ServeTask = {
    begin: (listen, stop) => {
      const startedNs = clock.nowNs();
      elapsedS = () => (clock.nowNs() - startedNs) / NS_PER_S;
      tell(`learning for ${minutes} min from clients that connect to ${listen}; Ctrl-C ends it early`);
      timeout = setTimeout(stop, minutes * S_PER_MINUTE * 1_000, 'the learning time has ended');
      state = () => {
        const leftS = Math.max(0, Math.round(minutes * S_PER_MINUTE - elapsedS()));
        const messages = survey.clientMessages + survey.upstreamMessages;
        return `learning, ${leftS} s left, ${messages} messages, ${survey.channels.size} channels`;
      };
    },
    end: () => {
      if (timeout === undefined) return;
      clearTimeout(timeout);
      timeout = undefined;
      sidecar?.readWaiting?.();
      output.out(formatLearnReport(survey.finish(), elapsedS()));
      state = () => 'waiting for open exchanges';
    },
  };
  const progress = setInterval(() => tell(state()), PROGRESS_MS);
  try {
    const create = async () => {
      sidecar = await createSidecar(survey);
      return sidecar;
    };
    return await serve({ config, logger, signals, createSidecar: create, task });
  } finally {
    clearTimeout(timeout);
    clearInterval(progress);
  }
}
