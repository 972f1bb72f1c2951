/** What the live page reads beside what everything else reads. */
import type { Clock } from '../base/clock.ts';
import type { History } from '../measure/history/history.ts';
import type { SessionEntry } from '../measure/sessions/session.ts';

/** One session, read when it is taken. */
export interface LiveSession {
  /** Failed calls of it. */
  readonly errors: number;
  toEntry(): SessionEntry;
}

export interface MonitoredOutside {
  readonly count: number;
  /** The most frequent first segments, bounded and of names only. */
  readonly segments: readonly (readonly [segment: string, count: number])[];
  /** Requests under none of `segments`. */
  readonly other: number;
}

export interface MonitoredLive {
  /** For the time of the answer. */
  readonly clock: Pick<Clock, 'epochMs'>;
  readonly history: Pick<
    History,
    'startedEpochMs' | 'seq' | 'marks' | 'droppedMarks' | 'points' | 'lineOf' | 'recentCounts' | 'worstCallOf'
  >;
  /** Requests that passed outside of all applications, since the start. */
  readonly outside: { read(): MonitoredOutside };
  /** Those of this moment, oldest first. */
  sessionsOf(application: string): Iterable<LiveSession>;
  /** Tries a connection to the upstream, at most one in a second. */
  probe(): Promise<unknown>;
}
