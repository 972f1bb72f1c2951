/** What the live page reads beside what everything else reads. */
import type { Clock } from '../clock.ts';
import type { History } from '../history/history.ts';
import type { SessionEntry } from '../sessions/session.ts';

/** One session, read when it is taken. */
export interface LiveSession {
  /** Failed calls of it. */
  readonly errors: number;
  toEntry(): SessionEntry;
}

export interface MonitoredLive {
  /** For the time of the answer. */
  readonly clock: Pick<Clock, 'epochMs'>;
  readonly history: Pick<History, 'startedEpochMs' | 'seq' | 'marks' | 'droppedMarks' | 'points' | 'lineOf'>;
  /** Those of this moment, oldest first. */
  sessionsOf(application: string): Iterable<LiveSession>;
  /** Tries a connection to the upstream, at most one in a second. */
  probe(): Promise<unknown>;
}
