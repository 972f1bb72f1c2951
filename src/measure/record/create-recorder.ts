import type { Clock } from '../../base/clock.ts';
import { AddressRate } from '../../limits/address-rate.ts';
import { MemoryBudget } from '../../limits/memory-budget.ts';
import { createStatistics } from '../../metrics/statistics.ts';
import { Timer } from '../../metrics/timer.ts';
import { Classifier } from '../classify/classifier.ts';
import type { CometListener } from '../comet/comet-listener.ts';
import { CometMetrics } from '../comet/comet-metrics.ts';
import { CometReader } from '../comet/comet-reader.ts';
import { CLAIMS_PER_ADDRESS } from '../sessions/claim-index.ts';
import { Credentials } from '../sessions/credentials.ts';
import { createSessionMetrics, SessionTable, type SessionTableParts } from '../sessions/session-table.ts';
import { CallObservers } from './call-observer.ts';
import { CallTotals } from './call-totals.ts';
import { OutsidePaths } from './outside-paths.ts';
import { OwnMetrics } from './own-metrics.ts';
import type { RecordedApplication } from './recorded-application.ts';
import { Recorder, type RecorderConfig, setLateLimit } from './recorder.ts';
import { RecorderState } from './recorder-state.ts';
import { RunningCalls } from './running-calls.ts';
import { SlowestCalls } from './slowest-calls.ts';
import { UnclassifiedPaths } from './unclassified-paths.ts';

export interface RecorderServices {
  /** Receives all Comet messages that are read. */
  readonly listener?: CometListener | undefined;
  /** The budget that all parts share; default: a new one. */
  readonly memory?: MemoryBudget;
}

/**
 * Builds the recorder and its parts from the configuration. Throws `D2S_ERR_CONFIG` for an unusable rule in
 * `rest.rules` or `comet.rules`. `sessions.max` and `metrics.maxNames` apply to each application.
 */
export function createRecorder(config: RecorderConfig, clock: Clock, services: RecorderServices = {}): Recorder {
  const { listener, memory = new MemoryBudget() } = services;
  const credentials = new Credentials(config.sessions.apiKeys, config.sessions.cookie);
  credentials.reconfigure(config.sessions);
  const claimRate = new AddressRate(clock, CLAIMS_PER_ADDRESS);
  const applications = config.applications.map((name) => createApplication(name, config, { clock, claimRate }));
  const cometMetrics = new CometMetrics(clock);
  const observers = new CallObservers();
  const forComet = { clock, credentials, metrics: cometMetrics, observers, listener, memory };
  const comet = config.comet.enabled ? new CometReader(config, applications, forComet) : undefined;
  const parts = {
    credentials,
    own: new OwnMetrics(
      applications.map(({ sessions }) => sessions),
      cometMetrics,
    ),
    applications: new Map(applications.map((application) => [application.name, application])),
  };
  return new Recorder({
    ...parts,
    classifier: new Classifier(config),
    comet,
    outside: new OutsidePaths(config.applications),
    unclassified: new UnclassifiedPaths(clock),
    observers,
    memory,
    clock,
    state: new RecorderState({ ...parts, cometMetrics, clientsOf: (name) => comet?.clientsOf(name) }),
  });
}

function createApplication(
  name: string,
  config: RecorderConfig,
  { clock, claimRate }: Pick<SessionTableParts, 'clock' | 'claimRate'>,
): RecordedApplication {
  const { otlp } = config;
  const isExponential = otlp?.endpoint !== undefined && otlp.metrics.histograms === 'exponential';
  const statistics = createStatistics(config.metrics, clock, {
    isExponential,
    applications: config.applications.length,
  });
  const totals = new CallTotals();
  setLateLimit({ statistics, totals }, config.calls);
  const sessions = new SessionTable({
    config: config.sessions,
    ...{ clock, claimRate },
    created: statistics.createTimer(),
    sessionMetrics: {
      createStatistics: () => statistics.createSessionStatistics(),
      createMetrics: (atNs, creationNs) => {
        const created = new Timer({ clock, createdNs: atNs - creationNs });
        created.update(creationNs, atNs);
        return createSessionMetrics(created, () => 1);
      },
    },
  });
  const running = new RunningCalls(clock);
  const slowest = new SlowestCalls(config.calls.slowest, clock);
  return { name, statistics, sessions, running, slowest, totals };
}
