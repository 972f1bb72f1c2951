/** What the monitoring server reads: the rest of the program as it needs to see it. */
import type { JvmState } from '../jvm/jvm-monitor.ts';
import type { CallStatistics } from '../metrics/call-statistics.ts';
import type { MetricSet } from '../metrics/metric-set.ts';
import type { ObjectStatistics } from '../metrics/object-statistics.ts';
import type { SessionEntry } from '../sessions/session.ts';

/** Statistics of one application, or of one session in it. */
export interface MonitoredStatistics {
  readonly rpc: Pick<CallStatistics, 'metrics' | 'metricsOf'>;
  readonly sba: Pick<CallStatistics, 'metrics' | 'metricsOf'>;
  readonly object: Pick<ObjectStatistics, 'metrics' | 'metricsOf'>;
}

export interface MonitoredSession {
  readonly statistics: MonitoredStatistics;
  metrics(): MetricSet;
}

export interface MonitoredApplication {
  /** Context path without slashes at its ends, e.g. `smartWeb`; `''` is the root context. */
  readonly name: string;
  readonly statistics: MonitoredStatistics;
  readonly sessions: {
    list(): readonly SessionEntry[];
    find(id: string): MonitoredSession | undefined;
    metrics(): MetricSet;
  };
}

export interface MonitoredHealth {
  /** Both listeners are open. */
  readonly isStarted: boolean;
  /** False while draining; with `monitor.readyWithUpstream` also while the upstream takes no connection. */
  isReady(): Promise<boolean>;
}

export interface Monitored {
  readonly applications: readonly MonitoredApplication[];
  readonly health: MonitoredHealth;
  /** The last reading of the JVM's condition, or why there is none. */
  readonly jvm: { readonly state: JvmState };
}
