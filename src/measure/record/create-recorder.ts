import type { Clock } from '../../base/clock.ts';
import { AddressRate } from '../../limits/address-rate.ts';
import { MemoryBudget } from '../../limits/memory-budget.ts';
import { LifetimeTimer } from '../../metrics/lifetime-timer.ts';
import type { MetricSet } from '../../metrics/metric-set.ts';
import { createSessionStatistics, createStatistics } from '../../metrics/statistics.ts';
import { Classifier } from '../classify/classifier.ts';
import { CLAIMS_PER_ADDRESS } from '../sessions/claim-index.ts';
import { Credentials } from '../sessions/credentials.ts';
import { SessionTable, type SessionTableParts } from '../sessions/session-table.ts';
import { CallObservers } from './call-observer.ts';
import type { CometListener } from './comet/comet-listener.ts';
import { CometMetrics } from './comet/comet-metrics.ts';
import { createCometReader } from './comet/create-comet-reader.ts';
import { OutsidePaths } from './outside-paths.ts';
import { OwnMetrics } from './own-metrics.ts';
import { RecordedState } from './recorded-state.ts';
import { type ApplicationStatistics, Recorder } from './recorder.ts';
import { prepareRecording, type RecorderConfig, type SessionOptions } from './recording-reload.ts';

export type { RecorderConfig } from './recording-reload.ts';

/**
 * Builds the recorder and its parts from the configuration. Needs `initMetrics`. Throws `D2S_ERR_CONFIG` for an
 * unusable rule in `rest.rules` or `comet.rules`. `sessions.max` and `metrics.maxNames` apply to each application.
 * `listener` receives all Comet messages that are read.
 */
export function createRecorder(config: RecorderConfig, clock: Clock, listener?: CometListener): Recorder {
  return createRecording(config, clock, { listener }).recorder;
}

export interface Recording {
  readonly recorder: Recorder;
  readonly state: RecordedState;
  /** The budget for its bodies and names; other parts use it as well. */
  readonly memory: MemoryBudget;
  /** See recording-reload.ts. */
  prepareReload(config: RecorderConfig): () => void;
}

export interface RecordingServices {
  readonly listener?: CometListener | undefined;
  /** The budget that all parts share; default: a new one. */
  readonly memory?: MemoryBudget;
}

/** As `createRecorder`. */
export function createRecording(config: RecorderConfig, clock: Clock, services: RecordingServices = {}): Recording {
  const { listener, memory = new MemoryBudget() } = services;
  const classifier = new Classifier(config);
  const credentials = new Credentials(config.sessions.apiKeys, config.sessions.cookie);
  const sessionOptions: SessionOptions = { metrics: config.metrics };
  const claimRate = new AddressRate(clock, CLAIMS_PER_ADDRESS);
  const applications = config.applications.map((name) =>
    createApplication(name, config, sessionOptions, { clock, claimRate }),
  );
  const cometMetrics = new CometMetrics(clock);
  const observers = new CallObservers();
  const comet = config.comet.enabled
    ? createCometReader(config, clock, applications, credentials, {
        metrics: cometMetrics,
        observers,
        listener,
        memory,
      })
    : undefined;
  const own = new OwnMetrics(
    applications.map(({ sessions }) => sessions),
    cometMetrics,
  );
  const parts = {
    credentials,
    own,
    applications: new Map(applications.map((application) => [application.name, application])),
  };
  const outside = new OutsidePaths(config.applications);
  const recorder = new Recorder({ ...parts, classifier, comet, outside, observers });
  return {
    recorder,
    memory,
    state: new RecordedState({ ...parts, cometMetrics, clientsOf: (name) => comet?.clientsOf(name) }),
    prepareReload: (next) => prepareRecording({ ...parts, recorder, comet, sessionOptions }, next),
  };
}

function createApplication(
  name: string,
  config: RecorderConfig,
  sessionOptions: SessionOptions,
  { clock, claimRate }: Pick<SessionTableParts, 'clock' | 'claimRate'>,
): ApplicationStatistics {
  const statistics = createStatistics(config.metrics, clock);
  const sessions = new SessionTable({
    config: config.sessions,
    ...{ clock, claimRate },
    created: statistics.createTimer(),
    sessionMetrics: {
      createStatistics: () => createSessionStatistics(sessionOptions.metrics, clock),
      createMetrics: (atNs, creationNs) => createSessionMetrics(atNs, creationNs, clock),
    },
  });
  return { name, statistics, sessions };
}

/** The same metric names as in the application's `SessionTable`, so that both have the same set of names. */
function createSessionMetrics(atNs: number, creationNs: number, clock: Clock): MetricSet {
  const created = new LifetimeTimer(clock, atNs - creationNs);
  created.update(creationNs, atNs);
  return {
    gauges: new Map([['sessions.active', { type: 'integer', read: () => 1 }]]),
    counters: new Map(),
    meters: new Map(),
    timers: new Map([['sessions.created', created]]),
  };
}
