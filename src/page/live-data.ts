/**
 * The answers of the monitoring port to this page: `GET live`, every two seconds, and the rows of the open table
 * (`live/<application>/rpc`, `sba`, `objects`, `sessions`). Times of the axis are epoch seconds, durations seconds.
 */

/** Calls of one kind in one step. Percentiles are null without a call. */
export type StepCalls = readonly [
  count: number,
  errors: number,
  p50: number | null,
  p99: number | null,
  p95: number | null,
];

export interface HistoryPoint {
  readonly seq: number;
  /** End of the step. */
  readonly t: number;
  /** Length of the step; longer than usual after a stall of the process. */
  readonly seconds: number;
  readonly rpc: StepCalls;
  readonly sba: StepCalls;
  readonly values: number;
  /** `aborted`: the client left; `unanswered`: no answer of the upstream. Both are calls of all applications. */
  readonly aborted: number;
  readonly unanswered: number;
  readonly sessions: number;
  readonly holds: number;
  readonly heapUsed: number | null;
  readonly heapAfterGc: number | null;
  readonly gcPauseMs: number | null;
  /** Busy request threads. */
  readonly busyThreads: number | null;
  /** Cores in use by the server. */
  readonly cores: number | null;
}

/** A rule with its condition and its current figure. */
export interface VerdictRule {
  readonly code: string;
  readonly applies: boolean;
  readonly text: string;
}

export type Subject = 'server' | 'network' | 'client' | 'sidecar' | 'nobody' | 'unknown';

/** As in `d2/verdict`, without the rules. */
export interface Verdict {
  readonly subject: Subject;
  readonly code: string;
  /** The call to look at first. */
  readonly kind: string | null;
  readonly name: string | null;
  readonly text: string;
  readonly since: string;
}

/** Calls of the last minute, of all kinds. Times are in seconds. */
export interface MinuteOfCalls {
  readonly ok: number;
  readonly clientErrors: number;
  readonly errors: number;
  readonly unanswered: number;
  readonly aborted: number;
  readonly late: number;
  readonly durationS: number;
  readonly clientWaitS: number;
  readonly longWaits: number;
  /** Requests that are no calls. */
  readonly unclassified: number;
  readonly misplaced: number;
}

/** The increments of a counter. */
export interface RecentCount {
  readonly sinceStart: number;
  readonly inMinute: number;
}

/** Requests outside all applications. `segments` and `other` are null without the role `sessions`. */
export interface Outside extends RecentCount {
  readonly segments: readonly (readonly [segment: string, count: number])[] | null;
  readonly other: number | null;
}

/** A name whose running calls all hang. Ages are in seconds. */
export interface HungCalls {
  readonly kind: string;
  readonly name: string;
  readonly count: number;
  readonly youngest: number;
  readonly oldest: number;
  /** Of all answered calls; null without any. */
  readonly p99: number | null;
}

/** The server's capacity and how much is in use. Unknown values are absent. */
export interface ServerCapacity {
  readonly 'threads.busy'?: number;
  readonly 'threads.max'?: number;
  readonly connections?: number;
  readonly 'jvm.threads.live'?: number;
  /** In cores. */
  readonly 'process.cpu'?: number;
  readonly processors?: number;
  /** In bytes. */
  readonly 'process.memory'?: number;
  readonly 'process.descriptors.open'?: number;
  readonly 'process.descriptors.max'?: number;
  /** In the last thread dump. */
  readonly deadlock?: { readonly threads: number; readonly at: string; readonly file: string };
}

export interface LiveApplication {
  /** Path of the application, e.g. `smartWeb`; empty for the root. */
  readonly name: string;
  readonly sessions: Readonly<Record<ConnectionType | 'created', number>>;
  readonly holds: { readonly now: number };
  readonly running: { readonly count: number; readonly hung: HungCalls | null };
  readonly verdict: Verdict;
  readonly minute: MinuteOfCalls;
  readonly history: { readonly stepSeconds: number; readonly points: readonly HistoryPoint[] };
}

export type ConnectionType = 'REST' | 'COMET_WEBSOCKET' | 'COMET_LONG_POLLING';

export interface Mark {
  readonly t: number;
  readonly kind: string;
  readonly text: string;
  /** Absent while it lasts, and for a moment. */
  readonly end?: number;
}

export interface Upstream {
  readonly state: 'unknown' | 'reachable' | 'unreachable';
  readonly since: string | null;
  readonly reason: string | null;
  /** Connections open, but TLS fails: why. */
  readonly tlsFault: string | null;
}

/** A certificate of the sidecar. */
export interface OwnCertificate {
  /** Of the configuration, e.g. `listen.tls`. */
  readonly section: string;
  readonly expires: string;
  /** Until then; negative afterwards. */
  readonly days: number;
  /** E.g. `it expires in 3 days, on 2026-12-01`; null while all is well. */
  readonly warning: string | null;
}

export interface Jvm {
  readonly state: 'available' | 'unavailable' | 'none';
  readonly source: string | null;
  readonly since: string | null;
  readonly reason: string | null;
  /** Bytes; null if unlimited or unknown. */
  readonly heapMax: number | null;
}

export interface Live {
  readonly version: string;
  readonly now: string;
  /** When this process began measuring. */
  readonly startTime: string;
  /** The reader's role: `metrics` gets no user names, addresses or session ids. */
  readonly role: 'metrics' | 'sessions';
  readonly state: string;
  readonly stopLeftSeconds: number | null;
  readonly upstream: Upstream;
  readonly certificates: readonly OwnCertificate[];
  readonly jvm: Jvm;
  readonly server: ServerCapacity;
  /** 0: clients wait forever. */
  readonly clientTimeoutSeconds: number;
  readonly limits: readonly ({ readonly key: string } & RecentCount)[];
  readonly failures: readonly ({ readonly code: string } & RecentCount)[];
  readonly connections: { readonly open: number; readonly refused: RecentCount };
  /** Share in the last minute. */
  readonly observerErrors: RecentCount;
  readonly outside: Outside;
  /** The window of the percentiles in the tables (`metrics.window`). */
  readonly windowSeconds: number;
  /** The newest step of this process. */
  readonly seq: number;
  readonly applications: readonly LiveApplication[];
  readonly marks: readonly Mark[];
}

/**
 * `count`: answered; `rate`: of one minute; `p50`, `p99`: of the window, 0 for none; `ended`: all that ended; `steps`:
 * calls in each of the last 12 times 25 s, oldest first.
 */
export type CallRow = readonly [
  name: string,
  count: number,
  errors: number,
  rate: number,
  p50: number,
  p99: number,
  ended: number,
  ...steps: number[],
];

export type ObjectRow = readonly [name: string, subscriptions: number, values: number, rate: number];

export type SessionRow = readonly [
  id: string,
  userName: string | null,
  connectionType: ConnectionType,
  createTime: string,
  lastActivityTime: string,
  remoteAddress: string,
  requests: number,
  errors: number,
  /** Present only if nothing has proven the name. */
  verified?: false,
];

/** A running call; its age is that at the moment of the answer. */
export type RunningRow = readonly [
  /** Unique among all calls. */
  key: string,
  kind: 'rpc' | 'sba' | 'object' | 'session',
  name: string,
  userName: string | null,
  connectionType: ConnectionType,
  remoteAddress: string,
  startTime: string,
  /** Seconds. */
  duration: number,
  sessionId: string | null,
  threadDump: string | null,
];

/** A call that has ended. */
export type SlowRow = readonly [...call: RunningRow, endTime: string, status: number | null, outcome: string];

/** Requests that are not calls, by the first segments of their path; `p95` in seconds. */
export type PathRow = readonly [path: string, count: number, p95: number];

export interface RowsOf {
  readonly rpc: readonly CallRow[];
  readonly sba: readonly CallRow[];
  readonly objects: readonly ObjectRow[];
  readonly sessions: readonly SessionRow[];
  readonly running: readonly RunningRow[];
  readonly slowest: readonly SlowRow[];
  readonly unclassified: readonly PathRow[];
}

export type TableKind = keyof RowsOf;

/** The part of Dropwizard's JSON that the views of one item read. */
export interface MetricsDocument {
  readonly gauges: Readonly<Record<string, { readonly value: number | string }>>;
  readonly counters: Readonly<Record<string, { readonly count: number }>>;
  readonly meters: Readonly<Record<string, Readonly<Record<string, number | string>>>>;
  readonly timers: Readonly<Record<string, Readonly<Record<string, number | string>>>>;
}
