/** The interfaces by which the monitoring server sees the rest of the program. */
import type { JvmState } from '../jvm/jvm-monitor.ts';
import type { ConnectionType, SessionEntry } from '../measure/sessions/session.ts';
import type { CallStatistics } from '../metrics/call-statistics.ts';
import type { DurationBucketsReading } from '../metrics/duration-buckets.ts';
import type { MetricSet } from '../metrics/metric-set.ts';
import type { ObjectStatistics } from '../metrics/object-statistics.ts';
import type { TimerReading } from '../metrics/timer.ts';
import type { MonitoredLive } from './monitored-live.ts';
import type { MonitoredSecurity } from './monitored-security.ts';
import type { ProcessReading } from './process-reading.ts';

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

type CountedCalls = Pick<CallStatistics, 'counts' | 'nameCount' | 'foldedCount'>;
type CountedObjects = Pick<ObjectStatistics, 'objects' | 'monitored' | 'nameCount' | 'foldedCount'>;

/** Statistics of a whole application, which also have counters since the start. */
export interface MonitoredTotals extends MonitoredStatistics {
  readonly rpc: MonitoredStatistics['rpc'] & CountedCalls;
  readonly sba: MonitoredStatistics['sba'] & CountedCalls;
  readonly object: MonitoredStatistics['object'] & CountedObjects;
}

export interface MonitoredApplication {
  /** Context path without its outer slashes, e.g. `smartWeb`; `''` is the root context. */
  readonly name: string;
  readonly statistics: MonitoredTotals;
  readonly sessions: {
    readonly created: TimerReading;
    /** Current sessions, oldest first. Each is read when the iterator reaches it, even if it has ended by then. */
    entries(): Iterable<SessionEntry>;
    countsByType(): Readonly<Record<ConnectionType, number>>;
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

/** The last reading of the JVM, or why there is none. The optional members are absent if no source is configured. */
export interface MonitoredJvm {
  readonly state: JvmState;
  /** Readings tried since the start; `failures` are those that failed. */
  readonly reads?: number;
  readonly failures?: number;
  readonly boundsHit?: ReadonlyMap<string, number>;
}

type Counts = Readonly<Record<string, number>>;

/** Counters since the start that belong to no application. */
export interface MonitoredNumbers {
  /** Exchanges by data path and ending. */
  readonly exchanges: Readonly<Record<string, Counts>>;
  readonly upgrades: number;
  /** By kind of call. */
  readonly aborted: Counts;
  readonly failed: Counts;
  readonly unclassified: number;
  readonly cometExchanges: number;
  readonly sessionsUntracked: number;
  /** By bound: `cookie`, `address`. */
  readonly claimsRefused: Counts;
  readonly comet: MonitoredComet;
  /** Time that the relay adds to data, by direction: `request`, `response`. */
  readonly added: Readonly<Record<string, DurationBucketsReading>>;
}

/** Result of the last connection attempt, and since when it has been so. */
export type MonitoredUpstream =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'reachable'; readonly sinceEpochMs: number }
  | { readonly kind: 'unreachable'; readonly sinceEpochMs: number; readonly reason: string };

export interface MonitoredComet {
  readonly messages: Counts;
  readonly holds: { readonly now: number; readonly ended: Counts; readonly duration: TimerReading };
  readonly handshakes: { readonly accepted: number; readonly refused: number; readonly storms: number };
  readonly unknownClients: number;
  readonly fallbacks: number;
  readonly connectGaps: number;
  readonly adopted: number;
  readonly unread: Counts;
  readonly untracked: Counts;
  readonly unanswered: { readonly timedOut: number; readonly abandoned: number };
}

/** The state file, which survives a restart. */
export interface MonitoredState {
  /** Result of reading the file at the start: `restored`, `absent`, or why it was refused. */
  readonly restored: string;
  readonly saves: number;
  readonly failures: number;
  readonly conflicts: number;
  readonly last:
    | {
        readonly epochMs: number;
        readonly durationNs: number;
        readonly longestSliceNs: number;
        readonly bytes: number;
      }
    | undefined;
}

export interface MonitoredAccessLog {
  readonly isOn: boolean;
  readonly waitingBytes: number;
  readonly counts: {
    readonly written: number;
    readonly lost: number;
    readonly failures: number;
    readonly rotations: number;
  };
}

/** Outcomes of one signal that is pushed by OTLP. */
export interface MonitoredSignal {
  /** Requests by outcome. */
  readonly exports: Counts;
  /** Failed requests by reason; all reasons are present. */
  readonly failures: ReadonlyMap<string, number>;
  /** Data points or spans by outcome. */
  readonly items: Counts;
  /** Whether the last request succeeded; undefined before the first. */
  readonly isUp: boolean | undefined;
  readonly longestSerializationNs: number;
}

export interface MonitoredOtlp {
  /** Pushed signals: `metrics`, `traces`. */
  readonly signals: ReadonlyMap<string, MonitoredSignal>;
  /** Undefined if no spans are made. */
  readonly waitingSpans: number | undefined;
}

export interface MonitoredSidecar {
  /** E.g. `1.4.0`. */
  readonly version: string;
  /** Commit of the source, e.g. `3f9c2a1b7d04` (base/build.ts). */
  readonly build: string;
  readonly own: { read(): MonitoredNumbers };
  readonly reporter: {
    readonly open: number;
    readonly inFlight: number;
    readonly observerErrors: number;
    /** Failures of the upstream by code; all codes are present. */
    readonly failures: { readonly counts: ReadonlyMap<string, number> };
  };
  /** Reached limits, by their key in the configuration. */
  readonly limits: { readonly counts: ReadonlyMap<string, number> };
  /** Data kept because of client requests, and refusals for lack of memory, both by kind. */
  readonly memory: { readonly used: Counts; readonly refusals: Counts };
  readonly dispatcher: {
    readonly openConnections: number;
    readonly clientAddresses: number;
    readonly acceptedConnections: number;
    readonly refusedConnections: number;
    /** Checks, one each second, that found no free file descriptor. */
    readonly descriptorShortages: number;
    /** By the irregularity that was found. */
    readonly handedOver: ReadonlyMap<string, number>;
  };
  readonly gateway: {
    readonly upgradedConnections: number;
    readonly overflowedConnections: number;
    /** By how they ended. */
    readonly tunnelsLetGo: Counts;
  };
  /** `leftMs`: time until the deadline, once a stop was requested. */
  readonly lifecycle: { readonly state: string; readonly leftMs: number | undefined };
  readonly upstream: { readonly reachability: MonitoredUpstream };
  /** Undefined if everybody may read. */
  readonly access: { readonly counts: { readonly wrong: number; readonly limited: number } } | undefined;
  readonly security: MonitoredSecurity;
  readonly loopDelay: { readonly durations: DurationBucketsReading };
  /** Absent if logging is off. */
  readonly log?: { readonly lostLines?: number | undefined };
  /** Undefined without a state file. */
  readonly state?: MonitoredState | undefined;
  /** Undefined if nothing is pushed. */
  readonly otlp?: MonitoredOtlp | undefined;
  readonly accessLog?: MonitoredAccessLog | undefined;
  /** Marks of the live page that were dropped for newer ones. */
  readonly droppedMarks?: number;
  readProcess(): Promise<ProcessReading>;
}

export interface Monitored {
  /** Called before each answer with numbers, so that it includes the latest exchanges. */
  catchUp?(): void;
  readonly applications: readonly MonitoredApplication[];
  readonly health: MonitoredHealth;
  readonly jvm: MonitoredJvm;
  readonly sidecar: MonitoredSidecar;
  /** Data of the live page; absent: it has none. */
  readonly live?: MonitoredLive;
}
