import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import type { Config } from '../../config/config.ts';
import type { AddressRate } from '../../limits/address-counts.ts';
import { type ApplicationStatistics, createStatistics } from '../../metrics/statistics.ts';
import type { ClassifierConfig } from '../classify/classifier.ts';
import { SessionTable } from '../sessions/session-table.ts';
import { CallTargets } from './call-targets.ts';
import { CallTotals, type SlowOutcome } from './call-totals.ts';
import { type RunningCall, RunningCalls, type SlowEnding, SlowestCalls } from './running-calls.ts';

export type RecorderConfig = ClassifierConfig &
  Pick<Config, 'calls' | 'comet' | 'metrics' | 'sessions'> & { readonly otlp?: Config['otlp'] };

export class RecordedApplication {
  /** As in the configuration: the context path without its outer slashes, e.g. `smartWeb`; `''` is the root context. */
  readonly name: string;
  readonly statistics: ApplicationStatistics;
  readonly sessions: SessionTable;
  readonly running: RunningCalls;
  readonly slowest: SlowestCalls;
  readonly totals: CallTotals;
  readonly targets: CallTargets;

  constructor(name: string, config: RecorderConfig, clock: Clock, claimRate: AddressRate) {
    const { applications, metrics, otlp } = config;
    const isExponential = otlp?.endpoint !== undefined && otlp.metrics.histograms === 'exponential';
    const statistics = createStatistics(metrics, clock, { isExponential, applications: applications.length });
    this.name = name;
    this.statistics = statistics;
    this.sessions = new SessionTable({
      config: config.sessions,
      ...{ clock, claimRate },
      created: statistics.createTimer(),
      createStatistics: () => statistics.createSessionStatistics(),
    });
    this.running = new RunningCalls(clock);
    this.slowest = new SlowestCalls(config.calls.slowest, clock);
    this.totals = new CallTotals(statistics.bounds);
    this.targets = new CallTargets(clock);
    this.reconfigure(config);
  }

  /** From the next call on. */
  reconfigure({ calls, metrics, sessions }: RecorderConfig): void {
    const { clientTimeoutMs, slowest, targets } = calls;
    const { rpc, sba } = this.statistics;
    const lateAfterNs = clientTimeoutMs === 0 ? Number.POSITIVE_INFINITY : clientTimeoutMs * NS_PER_MS;
    for (const counted of [rpc, sba, this.totals]) counted.lateAfterNs = lateAfterNs;
    this.slowest.max = slowest;
    this.targets.use(targets);
    this.statistics.limitNames(metrics);
    this.sessions.reconfigure(sessions);
  }

  /** Counts an ended call, besides its statistics. `session`: that counted the call. `shown`: in the list of slowest calls. */
  callEnded(
    running: Omit<RunningCall, 'session'>,
    session: RunningCall['session'],
    ending: SlowEnding,
    outcome: SlowOutcome,
    shown = outcome,
  ): void {
    const { kind, name } = running.call;
    this.totals.ended(kind, outcome, ending);
    this.targets.ended(kind, name, outcome, ending.durationNs);
    this.slowest.add(running, session, ending, shown);
  }
}
