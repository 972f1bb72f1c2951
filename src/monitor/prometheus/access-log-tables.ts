import type { MonitoredAccessLog } from '../monitored.ts';
import { single, type Table } from './table.ts';

/** Tables of the access log; empty while it is off. */
export function accessLogTables(log: MonitoredAccessLog | undefined): readonly Table[] {
  const counts = log?.isOn === true ? log.counts : undefined;
  return [
    single('counter', 'd2_sidecar_access_log_lines_total', 'Lines that the access log has got.', () => counts?.written),
    single(
      'counter',
      'd2_sidecar_access_log_lost_lines_total',
      'Lines of the access log that were lost: its file could not be written, or its reader was too slow.',
      () => counts?.lost,
    ),
    single(
      'counter',
      'd2_sidecar_access_log_failures_total',
      'Times that the file of the access log could not be opened, written or set aside.',
      () => counts?.failures,
    ),
    single(
      'counter',
      'd2_sidecar_access_log_rotations_total',
      'Times that the file of the access log was set aside for its size.',
      () => counts?.rotations,
    ),
    single('gauge', 'd2_sidecar_access_log_waiting_bytes', 'Bytes that wait to be written to the access log.', () =>
      counts === undefined ? undefined : log?.waitingBytes,
    ),
  ];
}
