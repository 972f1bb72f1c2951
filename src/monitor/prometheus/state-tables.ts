import { NS_PER_S } from '../../base/clock.ts';
import type { MonitoredState } from '../monitored.ts';
import { single, type Table } from './table.ts';

const MS_PER_S = 1_000;

/** Tables of the state file; empty if none is configured. */
export function stateTables(state: MonitoredState | undefined): readonly Table[] {
  return [
    {
      name: 'd2_sidecar_state_start_info',
      type: 'info',
      help: 'What became of the state file at the start: restored, absent, or why it was refused.',
      labels: ['result'],
      *samples() {
        if (state !== undefined) yield { labels: [state.restored], value: 1 };
      },
    },
    single('counter', 'd2_sidecar_state_saves_total', 'Times that the state was saved.', () => state?.saves),
    single(
      'counter',
      'd2_sidecar_state_save_failures_total',
      'Times that the state could not be saved.',
      () => state?.failures,
    ),
    single(
      'counter',
      'd2_sidecar_state_conflicts_total',
      'Times that another sidecar was found to save to the same state.file.',
      () => state?.conflicts,
    ),
    single(
      'gauge',
      'd2_sidecar_state_last_save_timestamp_seconds',
      'When the last save began, in seconds since 1970.',
      () => state?.last && state.last.epochMs / MS_PER_S,
    ),
    single(
      'gauge',
      'd2_sidecar_state_last_save_seconds',
      'How long the last save took; the traffic went on meanwhile.',
      () => state?.last && state.last.durationNs / NS_PER_S,
    ),
    single(
      'gauge',
      'd2_sidecar_state_last_save_slice_seconds',
      'The longest that the last save kept the event loop at once.',
      () => state?.last && state.last.longestSliceNs / NS_PER_S,
    ),
    single('gauge', 'd2_sidecar_state_file_bytes', 'Size of the state file.', () => state?.last?.bytes),
  ];
}
