import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { AddressRate } from '../../limits/address-counts.ts';
import { type ApplicationStatistics, createStatistics } from '../../metrics/statistics.ts';
import type { ClassifierConfig } from '../classify/classifier.ts';
import { SessionTable } from '../sessions/session-table.ts';
import { CallTargets } from './call-targets.ts';
import { CallTotals } from './call-totals.ts';
import { RunningCalls } from './running-calls.ts';
import { SlowestCalls } from './slowest-calls.ts';

export type RecorderConfig = ClassifierConfig &
  Pick<Config, 'calls' | 'comet' | 'metrics' | 'sessions'> & { readonly otlp?: Config['otlp'] };

export interface RecordedApplication {
  /** As in the configuration; `''` is the root context. */
  readonly name: string;
  readonly statistics: ApplicationStatistics;
  readonly sessions: SessionTable;
  readonly running: RunningCalls;
  readonly slowest: SlowestCalls;
  readonly totals: CallTotals;
  readonly targets: CallTargets;
}

export function createApplication(
  name: string,
  config: RecorderConfig,
  clock: Clock,
  claimRate: AddressRate,
): RecordedApplication {
  const { otlp } = config;
  const isExponential = otlp?.endpoint !== undefined && otlp.metrics.histograms === 'exponential';
  const statistics = createStatistics(config.metrics, clock, {
    isExponential,
    applications: config.applications.length,
  });
  const totals = new CallTotals(statistics.bounds);
  setLateLimit({ statistics, totals }, config.calls);
  const targets = new CallTargets(clock);
  targets.use(config.calls.targets);
  const sessions = new SessionTable({
    config: config.sessions,
    ...{ clock, claimRate },
    created: statistics.createTimer(),
    createStatistics: () => statistics.createSessionStatistics(),
  });
  const running = new RunningCalls(clock);
  const slowest = new SlowestCalls(config.calls.slowest, clock);
  return { name, statistics, sessions, running, slowest, totals, targets };
}

/** `calls.clientTimeout`: a later answer counts as late. */
export function setLateLimit(
  { statistics: { rpc, sba }, totals }: Pick<RecordedApplication, 'statistics' | 'totals'>,
  calls: Config['calls'],
): void {
  const afterNs = calls.clientTimeoutMs === 0 ? Number.POSITIVE_INFINITY : calls.clientTimeoutMs * NS_PER_MS;
  rpc.lateAfterNs = afterNs;
  sba.lateAfterNs = afterNs;
  totals.lateAfterNs = afterNs;
}
