import type { MonitoredSidecar } from '../monitored.ts';
import { labelled, single, type Table } from './table.ts';

const MS_PER_S = 1_000;

export function lifecycleTables({ lifecycle, gateway }: MonitoredSidecar): readonly Table[] {
  return [
    single('gauge', 'd2_sidecar_draining', 'Whether it lets its clients go, and is not ready any more.', () =>
      Number(lifecycle.state !== 'serving'),
    ),
    single(
      'gauge',
      'd2_sidecar_stop_left_seconds',
      'Until the deadline of the stop that was asked for.',
      () => lifecycle.leftMs && lifecycle.leftMs / MS_PER_S,
    ),
    labelled(
      {
        type: 'counter',
        name: 'd2_sidecar_websockets_let_go_total',
        help: 'WebSockets that were ended for a stop: closed with 1001 and answered, or cut.',
        label: 'ending',
      },
      () => gateway.tunnelsLetGo,
    ),
  ];
}
