/**
 * The answers of the monitoring port to this page: `GET live`, every two seconds, and the rows of the open table. Their
 * forms are the types of the code that makes them; nothing else of it is imported.
 */
import type { CallEntry, SlowEntry } from '../measure/record/running-calls.ts';
import type { UnclassifiedRequests } from '../measure/record/unclassified-requests.ts';
import type { Verdict as JudgedVerdict } from '../measure/verdict/verdicts.ts';
import type { Live, LiveApplication } from '../monitor/live/live-document.ts';
import type { ItemDetails, readCalls, readObjects, readSessions } from '../monitor/live/live-tables.ts';

export type { RecentCount } from '../measure/history/steps.ts';
export type { ConnectionType } from '../measure/sessions/session.ts';
export type { Subject } from '../measure/verdict/evidence.ts';
export type { ItemDetails, Live, LiveApplication };

export type HistoryPoint = LiveApplication['history']['points'][number];
export type StepCalls = HistoryPoint['rpc'];
export type Verdict = LiveApplication['verdict'];
export type Target = LiveApplication['targets'][number];
export type ItemMinute = ItemDetails['minutes'][number];
/** A rule with its condition and its current figure. */
export type VerdictRule = JudgedVerdict['rules'][number];
/** A current session that has called a name, or monitors an object. */
export type CallerRow = NonNullable<ItemDetails['callers']>[number];

/** Of the last hour, or of the history on disk. */
export interface Mark {
  readonly t: number;
  readonly kind: string;
  readonly text: string;
  /** Absent while it lasts, and for a moment. */
  readonly end?: number;
}

type RowOf<Read extends (...sources: never[]) => Generator> =
  ReturnType<Read> extends Generator<infer Row> ? Row : never;
export type CallRow = RowOf<typeof readCalls>;
export type SessionRow = RowOf<typeof readSessions>;

/** A call that runs, or one of the slowest that ended: an element of `d2/calls` or `d2/calls/slowest`. */
export type SingleCall = CallEntry & Partial<SlowEntry>;

/** A call with what the page adds to it. */
export interface SingleCallRow extends SingleCall {
  /** Unique among the rows. */
  readonly key: string;
  /** It took longer than clients wait. */
  readonly isLate: boolean;
}

/** A table as the port sends it: the names once, then the values of each row in their order. */
export interface Columns {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

export function parseRows({ columns, rows }: Columns): readonly object[] {
  return rows.map((values) => Object.fromEntries(columns.map((name, at) => [name, values[at]])));
}

export interface RowsOf {
  readonly rpc: readonly CallRow[];
  readonly sba: readonly CallRow[];
  readonly objects: readonly RowOf<typeof readObjects>[];
  readonly sessions: readonly SessionRow[];
  readonly running: readonly SingleCallRow[];
  readonly slowest: readonly SingleCallRow[];
  readonly unclassified: ReturnType<UnclassifiedRequests['readPaths']>;
}

export type TableKind = keyof RowsOf;

/** The part of Dropwizard's JSON that the views of one item read. */
export interface MetricsDocument {
  readonly counters: Readonly<Record<string, { readonly count: number }>>;
  readonly meters: Readonly<Record<string, Readonly<Record<string, number | string>>>>;
  readonly timers: Readonly<Record<string, Readonly<Record<string, number | string>>>>;
}

/** `clientTimeoutS`: a later answer is too late for its user; 0: never. */
export function parseCalls(calls: readonly SingleCall[], clientTimeoutS: number): readonly SingleCallRow[] {
  return calls.map((call, at) => ({
    ...call,
    key: `${call.startTime} ${at}`,
    isLate: clientTimeoutS > 0 && call.duration > clientTimeoutS,
  }));
}
