import { NS_PER_S } from '../../base/clock.ts';
import type { MonitoredOtlp, MonitoredSignal } from '../monitored.ts';
import { type Sample, single, type Table } from './table.ts';

/** Tables of the OTLP push; empty if no receiver is configured. */
export function otlpTables(otlp: MonitoredOtlp | undefined): readonly Table[] {
  if (otlp === undefined) return [];
  const table = (
    family: Pick<Table, 'type' | 'name' | 'help'> & { readonly label?: string },
    read: (numbers: MonitoredSignal) => Iterable<readonly [label: string, value: number | undefined]>,
  ): Table => ({
    ...{ type: family.type, name: family.name, help: family.help },
    labels: family.label === undefined ? ['signal'] : ['signal', family.label],
    *samples(): Generator<Sample> {
      for (const [signal, numbers] of otlp.signals) {
        for (const [label, value] of read(numbers)) {
          if (value !== undefined) yield { labels: family.label === undefined ? [signal] : [signal, label], value };
        }
      }
    },
  });
  return [
    table(
      { type: 'gauge', name: 'd2_sidecar_otlp_up', help: 'Whether the last request to the OTLP receiver succeeded.' },
      ({ isUp }) => [['', isUp === undefined ? undefined : Number(isUp)]],
    ),
    table(
      { ...COUNTER, name: 'd2_sidecar_otlp_exports_total', help: 'Requests to the OTLP receiver.', label: 'outcome' },
      ({ exports }) => Object.entries(exports),
    ),
    table(
      {
        ...{ ...COUNTER, name: 'd2_sidecar_otlp_export_failures_total', label: 'reason' },
        help: 'Requests to the OTLP receiver that failed, by reason.',
      },
      ({ failures }) => failures,
    ),
    table(
      {
        ...{ ...COUNTER, name: 'd2_sidecar_otlp_items_total', label: 'outcome' },
        help: 'Data points and spans: accepted or rejected by the receiver, lost with a failure, dropped from a full queue.',
      },
      ({ items }) => Object.entries(items),
    ),
    table(
      {
        ...{ type: 'gauge', name: 'd2_sidecar_otlp_longest_serialization_seconds' },
        help: 'The longest that writing one request to the OTLP receiver kept the event loop.',
      },
      ({ longestSerializationNs }) => [['', longestSerializationNs / NS_PER_S]],
    ),
    single('gauge', 'd2_sidecar_otlp_spans_waiting', 'Spans that are not sent yet.', () => otlp.waitingSpans),
  ];
}

const COUNTER = { type: 'counter' } as const;
