import type { ApplicationStatistics } from '../../metrics/statistics.ts';
import type { SessionTable } from '../sessions/session-table.ts';
import type { CallTotals } from './call-totals.ts';
import type { RunningCalls } from './running-calls.ts';
import type { SlowestCalls } from './slowest-calls.ts';

export interface RecordedApplication {
  /** As in the configuration; `''` is the root context. */
  readonly name: string;
  readonly statistics: ApplicationStatistics;
  readonly sessions: SessionTable;
  readonly running: RunningCalls;
  readonly slowest: SlowestCalls;
  readonly totals: CallTotals;
}
