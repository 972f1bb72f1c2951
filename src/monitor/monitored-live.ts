/** Further data that only the live page reads. */
import type { Clock } from '../base/clock.ts';
import type { History } from '../measure/history/history.ts';
import type { SessionEntry } from '../measure/sessions/session.ts';

/** One session; `toEntry` reads its current values. */
export interface LiveSession {
  readonly errors: number;
  toEntry(): SessionEntry;
}

export interface MonitoredOutside {
  readonly count: number;
  /** The most frequent first path segments: a bounded list, and only names. */
  readonly segments: readonly (readonly [segment: string, count: number])[];
  /** Requests under none of `segments`. */
  readonly other: number;
}

export interface MonitoredLive {
  /** Gives the time of the answer. */
  readonly clock: Pick<Clock, 'epochMs'>;
  readonly history: Pick<
    History,
    'startedEpochMs' | 'seq' | 'marks' | 'droppedMarks' | 'points' | 'lineOf' | 'recentCounts' | 'worstCallOf'
  >;
  /** Requests since the start outside of all applications. */
  readonly outside: { read(): MonitoredOutside };
  /** Current sessions, oldest first. */
  sessionsOf(application: string): Iterable<LiveSession>;
  /** Tries a connection to the upstream, at most one each second. */
  probe(): Promise<unknown>;
}
