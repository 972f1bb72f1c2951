import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';
import type { Archive } from './archive.ts';

export const ARCHIVE_METRICS: readonly MetricDescription<Archive>[] = [
  counter('d2_sidecar_history_writes_total', 'Writes to history.file.', 'writes'),
  counter('d2_sidecar_history_write_failures_total', 'Failed writes to history.file.', 'failures'),
  counter('d2_sidecar_history_dropped_total', 'Minutes never written to history.file: too many waited.', 'dropped'),
  gauge('d2_sidecar_history_queue_length', 'Minutes that wait for history.file.', 'queued'),
  gauge('d2_sidecar_history_file_bytes', 'Size of history.file.', 'bytes'),
  counter(
    'd2_sidecar_history_files_refused_total',
    'Files set aside: damaged, or of an older or newer version.',
    'refused',
    'reason',
  ),
];
