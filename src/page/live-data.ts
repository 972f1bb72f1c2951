/**
 * The answers of the monitoring port to this page: `GET live`, every two seconds, and the rows of the open table. Times
 * of the axis are epoch seconds, durations seconds. The server builds its answers with these types.
 */

/** Calls of one kind in one step. Percentiles are null without a call. */
export interface StepCalls {
  /** Answered calls. */
  readonly count: number;
  readonly errors: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
}

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
  readonly heapUsed: number | null;
  readonly heapAfterGc: number | null;
  readonly gcPauseMs: number | null;
  /** Busy request threads. */
  readonly busyThreads: number | null;
  /** Cores in use by the server. */
  readonly cores: number | null;
  /** Of the calls of all kinds that ended. */
  readonly times: { readonly ended: number; readonly durationS: number; readonly clientWaitS: number };
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

/** Calls of the last minute, of all kinds. */
export interface MinuteOfCalls {
  readonly ok: number;
  readonly clientErrors: number;
  readonly errors: number;
  readonly unanswered: number;
  readonly aborted: number;
  readonly late: number;
}

export interface TargetCounts {
  readonly met: number;
  readonly missed: number;
}

/** A target of `calls.targets`. */
export interface Target {
  /** Of a call, or with `*` at its end the beginning of names. */
  readonly name: string;
  /** Of the last call that missed it. */
  readonly kind: 'rpc' | 'sba';
  /** Seconds. */
  readonly within: number;
  /** Share of the calls that should meet it. */
  readonly share: number;
  /** The last minute. */
  readonly minute: TargetCounts;
  /** This month, in UTC. */
  readonly month: TargetCounts;
  /** Used part of the calls that may miss it this month; null if none may. */
  readonly allowanceUsed: number | null;
  /** Share that met it in each minute of the last hour, oldest first; null without a call. The last has not ended. */
  readonly hour: readonly (number | null)[];
}

/** The increments of a counter. */
export interface RecentCount {
  readonly sinceStart: number;
  readonly inMinute: number;
}

/** Requests outside all applications. `segments` and `other` are null without the role `sessions`. */
export interface Outside extends RecentCount {
  readonly segments: readonly { readonly segment: string; readonly requests: number }[] | null;
  readonly other: number | null;
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
}

export interface LiveApplication {
  /** Path of the application, e.g. `smartWeb`; empty for the root. */
  readonly name: string;
  readonly sessions: Readonly<Record<ConnectionType | 'created', number>>;
  /** Comet polls that the server holds, of all applications. */
  readonly heldPolls: number;
  readonly verdict: Verdict;
  readonly minute: MinuteOfCalls;
  readonly targets: readonly Target[];
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

/** Times are ISO 8601. */
export interface Alerts {
  readonly silence: { readonly until: string; readonly text: string } | null;
  readonly channels: readonly {
    /** `webhook` or `mail`. */
    readonly channel: string;
    readonly waiting: number;
    readonly failure: { readonly reason: string; readonly since: string } | null;
  }[];
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
  readonly refusedConnections: RecentCount;
  readonly observerErrors: RecentCount;
  readonly outside: Outside;
  /** The history on disk; null without `history.file`. `failure`: why it cannot be written now. */
  readonly archive: { readonly failure: string | null } | null;
  /** Messages; null without a receiver. */
  readonly alerts: Alerts | null;
  /** The newest step of this process. */
  readonly seq: number;
  readonly applications: readonly LiveApplication[];
  readonly marks: readonly Mark[];
}

export interface CallRow {
  readonly name: string;
  /** Answered calls. */
  readonly count: number;
  readonly errors: number;
  /** Calls a second, of one minute. */
  readonly rate: number;
  /** Of the window (`metrics.window`); null without calls in it. */
  readonly p50: number | null;
  readonly p99: number | null;
  /** Calls that ended, answered or not. */
  readonly ended: number;
  /** Calls in each of the last 12 times 25 s, oldest first. */
  readonly spark: readonly number[];
}

export interface ObjectRow {
  readonly name: string;
  readonly subscriptions: number;
  /** Received values. */
  readonly values: number;
  /** Values a second, of one minute. */
  readonly rate: number;
}

/** What identifies a session, and its errors. */
interface SessionOfUser {
  readonly id: string;
  readonly userName: string | null;
  /** False: nothing has proven the name. */
  readonly verified: boolean;
  readonly remoteAddress: string;
  readonly connectionType: ConnectionType;
  readonly errors: number;
}

export interface SessionRow extends SessionOfUser {
  readonly createTime: string;
  readonly lastActivityTime: string;
  readonly requests: number;
}

/** A call that runs, or one of the slowest that ended: an element of `d2/calls` or `d2/calls/slowest`. */
export interface SingleCall {
  readonly kind: 'rpc' | 'sba' | 'object' | 'session';
  readonly name: string;
  readonly sessionId: string | null;
  readonly userName: string | null;
  readonly remoteAddress: string;
  readonly startTime: string;
  /** Seconds until the answer was read, or until the end. */
  readonly duration: number;
  /** Absent while the call runs; null without an answer. */
  readonly status?: number | null;
  readonly outcome?: string;
  /** Seconds in which nothing but the client held it up; absent while the call runs. */
  readonly clientWait?: number;
}

/** A call with what the page adds to it. */
export interface SingleCallRow extends SingleCall {
  /** Unique among the rows. */
  readonly key: string;
  /** It took longer than clients wait. */
  readonly isLate: boolean;
}

/** Requests that are not calls, by the first segments of their path; `p95` in seconds. */
export interface PathRow {
  readonly path: string;
  readonly count: number;
  readonly p95: number;
}

export interface RowsOf {
  readonly rpc: readonly CallRow[];
  readonly sba: readonly CallRow[];
  readonly objects: readonly ObjectRow[];
  readonly sessions: readonly SessionRow[];
  readonly running: readonly SingleCallRow[];
  readonly slowest: readonly SingleCallRow[];
  readonly unclassified: readonly PathRow[];
}

export type TableKind = keyof RowsOf;

/** One name in one minute of the last hour. Durations are null without an answered call. */
export interface ItemMinute {
  /** End of the minute. */
  readonly t: number;
  readonly seconds: number;
  readonly ok: number;
  readonly clientErrors: number;
  readonly errors: number;
  readonly late: number;
  /** Of an object: received values. */
  readonly values: number;
  readonly p50: number | null;
  readonly p95: number | null;
  readonly max: number | null;
  /** Calls by duration, see `heatBounds`; empty without calls. */
  readonly heat: readonly number[];
}

/** A current session that has called a name, or monitors an object. */
export interface CallerRow extends SessionOfUser {
  /** Answered calls, or received values. */
  readonly count: number;
  readonly subscriptions: number;
}

/** The view of one name or session, beside its metrics. What has users is null without the role `sessions`. */
export interface ItemDetails {
  /** Oldest first; the last has not ended. Empty for a session. */
  readonly minutes: readonly ItemMinute[];
  /** Upper bounds of the counts in `heat`; one more count has none. */
  readonly heatBounds: readonly number[];
  /** Calls since the start that did not succeed, e.g. `{ status: '503', count: 3 }`. */
  readonly statuses: readonly { readonly status: string; readonly count: number }[];
  readonly callers: readonly CallerRow[] | null;
  readonly running: readonly SingleCall[] | null;
  readonly slowest: readonly SingleCall[] | null;
}

/** The part of Dropwizard's JSON that the views of one item read. */
export interface MetricsDocument {
  readonly counters: Readonly<Record<string, { readonly count: number }>>;
  readonly meters: Readonly<Record<string, Readonly<Record<string, number | string>>>>;
  readonly timers: Readonly<Record<string, Readonly<Record<string, number | string>>>>;
}
