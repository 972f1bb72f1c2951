import type { ServerState } from '../../jvm/server-reading.ts';
import type { UpstreamCondition } from '../history/marks.ts';
import type { TargetReading } from '../record/call-targets.ts';
import type { CallTotals } from '../record/call-totals.ts';
import type { HungName } from '../record/running-calls.ts';

export const SUBJECTS = ['server', 'network', 'client', 'sidecar', 'nobody', 'unknown'] as const;

export type Subject = (typeof SUBJECTS)[number];

export interface SuspectCall {
  readonly kind: string;
  readonly name: string;
}

/** Differences of counters over the last minute. Times are in seconds. */
export type MinuteCounts = Readonly<CallTotals['counts']> & {
  /** Requests below the application that are no calls. */
  readonly unclassified: number;
  /** Requests that would be calls if their first segment were the application's. */
  readonly misplaced: number;
};

export interface Evidence {
  readonly application: string;
  readonly lifecycleState: string;
  readonly isLeaving: boolean;
  /** Why clients cannot trust the sidecar's certificate, e.g. `it expired on 2026-11-20`; undefined if they can. */
  readonly ownCertificateFault: string | undefined;
  readonly upstream: UpstreamCondition;
  readonly server: ServerState | undefined;
  readonly deadlock: { readonly threads: number; readonly file: string } | undefined;
  readonly hung: HungName | null;
  readonly minute: MinuteCounts;
  /** The name with the most failed calls of the minute. */
  readonly worst: (SuspectCall & { readonly failed: number; readonly ended: number }) | undefined;
  readonly slowest: SuspectCall | undefined;
  /** `calls.clientTimeout`; 0: clients wait forever. */
  readonly clientTimeoutS: number;
  /** Of the last minute. */
  readonly targets: readonly TargetReading[];
  /** Share of the minute that collectors took, from 0 to 1; null if no JVM is read. */
  readonly collectorShare: number | null;
  /** In seconds; null without enough calls. */
  readonly p95: { readonly now: number | null; readonly usual: number | null };
  /** The most frequent path of requests below the application that are no calls, e.g. `/smartWeb/odata`. */
  readonly unclassifiedPath: string | undefined;
  /** E.g. `/smartWeb/...`: outside of all applications, but otherwise the path of a call. */
  readonly misplacedPath: string | undefined;
}

export interface Judgement {
  readonly applies: boolean;
  /** The condition, and the current figure. */
  readonly text: string;
  readonly subject: Subject;
  /** The sentence, if this rule is the verdict. */
  readonly says: string;
  readonly suspect?: SuspectCall | undefined;
}

export type Rule = (evidence: Evidence) => Judgement;

export function hungText({ kind, name }: SuspectCall): string {
  return `${kind} ${name} hangs`;
}
