/** The interfaces through which the monitoring server reads the rest of the program. */
import type { Archive } from '../archive/archive.ts';
import type { Clock } from '../base/clock.ts';
import type { Table } from '../base/metric-description.ts';
import type { JvmMonitor } from '../jvm/jvm-monitor.ts';
import type { Diagnosed } from '../jvm/thread-diagnosis.ts';
import type { LimitHits } from '../limits/limit-hits.ts';
import type { History } from '../measure/history/history.ts';
import type { UpstreamCondition } from '../measure/history/marks.ts';
import type { OwnMetrics } from '../measure/record/own-metrics.ts';
import type { RecordedApplication } from '../measure/record/recorded-application.ts';
import type { UnclassifiedRequests } from '../measure/record/unclassified-requests.ts';
import type { Session } from '../measure/sessions/session.ts';
import type { Verdicts } from '../measure/verdict/verdicts.ts';
import type { ExchangeReporter } from '../proxy/exchange/exchange-reporter.ts';
import type { Dispatcher } from '../proxy/listener/dispatcher.ts';
import type { OwnCertificate } from '../tls/own-certificate.ts';
import type { ProcessReading } from './process-reading.ts';

export type MonitoredApplication = RecordedApplication;

/** The last reading of the JVM, or why there is none. The optional members are absent if no source is configured. */
export type MonitoredJvm = Pick<JvmMonitor, 'state'> & Partial<Pick<JvmMonitor, 'reads' | 'failures' | 'boundsHit'>>;

export interface MonitoredSidecar {
  /** E.g. `1.4.0`. */
  readonly version: string;
  /** Commit of the source, e.g. `3f9c2a1b7d04` (base/build.ts). */
  readonly build: string;
  /** The counters include those of a state file, from before this process. */
  readonly isRestored: boolean;
  readonly own: OwnMetrics;
  readonly reporter: ExchangeReporter;
  readonly limits: LimitHits;
  readonly dispatcher: Dispatcher;
  /** `leftMs`: time until the deadline, once a stop was requested. */
  readonly lifecycle: { readonly state: string; readonly leftMs: number | undefined };
  readonly upstream: { readonly reachability: UpstreamCondition };
  readProcess(): Promise<ProcessReading>;
}

/** Times are ISO 8601. */
export interface MonitoredAlerts {
  readonly silence: { readonly until: string; readonly text: string } | null;
  readonly channels: readonly {
    /** `webhook` or `mail`. */
    readonly channel: string;
    readonly waiting: number;
    readonly failure: { readonly reason: string; readonly since: string } | null;
  }[];
}

/** Further data that only the live page reads. */
export interface MonitoredLive {
  /** For the time of the answer. */
  readonly clock: Pick<Clock, 'epochMs'>;
  readonly history: History;
  /** The history on disk. Throws D2S_ERR_HISTORY_FILE without one. */
  archive(): Archive;
  /** Of `history.file`; undefined without one. */
  readonly archiveState: Archive | undefined;
  /** Undefined without a receiver of messages. */
  readonly alerts: { readonly state: MonitoredAlerts } | undefined;
  /** Requests since the start that are not calls. */
  readonly unclassified: UnclassifiedRequests;
  /** 0: clients wait forever. */
  clientTimeoutMs(): number;
  /** The deadlock in the last thread dump. */
  diagnosed(): Diagnosed | undefined;
  /** The sidecar's own. */
  certificates(): readonly OwnCertificate[];
  /** Current sessions, oldest first. */
  sessionsOf(application: string): Iterable<LiveSession>;
  /** Tries a connection to the upstream, at most one each second. */
  probe(): Promise<unknown>;
}

export type LiveSession = Pick<Session, 'errors' | 'toEntry' | 'countsOf'>;

export interface Monitored {
  /** Called before each answer with numbers, so that it includes the latest exchanges. */
  catchUp(): void;
  readonly applications: readonly MonitoredApplication[];
  readonly health: {
    /** Both listeners are open. */
    readonly isStarted: boolean;
    /** False while draining; with `monitor.readyWithUpstream` also while the upstream accepts no connection. */
    isReady(): Promise<boolean>;
  };
  readonly jvm: MonitoredJvm;
  readonly sidecar: MonitoredSidecar;
  readonly verdicts: Verdicts;
  /** All metrics of `/metrics`, including those of `process`. */
  createTables(process: ProcessReading): readonly Table[];
  readonly live: MonitoredLive;
}
