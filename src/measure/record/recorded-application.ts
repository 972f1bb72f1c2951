import type { ApplicationStatistics } from '../../metrics/statistics.ts';
import type { SessionTable } from '../sessions/session-table.ts';

export interface RecordedApplication {
  /** As in the configuration; `''` is the root context. */
  readonly name: string;
  readonly statistics: ApplicationStatistics;
  readonly sessions: SessionTable;
}
