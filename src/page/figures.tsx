/** The figures of the last minute and now, compared with the usual ones; each links to its table, except the heap. */

import type { DefinitionKey } from '../base/definitions.ts';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRate } from '../base/figures.ts';
import { type Figure, FigureList } from './figure-list.tsx';
import { compareWithUsual, errorShareOf, errorsOf, type Period, perSecond, type Usual } from './history-points.ts';
import type { LiveApplication, TableKind } from './live-data.ts';
import { formatRoute } from './route.ts';
import { TABLES } from './tables.tsx';

export interface MinuteFiguresProps {
  readonly application: LiveApplication;
  readonly minute: Period;
  /** The minutes of the hour before. */
  readonly minutes: readonly Period[];
  readonly heapMax: number | null;
}

export function MinuteFigures(props: MinuteFiguresProps) {
  return (
    <section class="figures" aria-label="The last minute">
      <FigureList figures={selectFigures(props)} />
    </section>
  );
}

function selectFigures({ application, minute, minutes, heapMax }: MinuteFiguresProps): readonly Figure[] {
  const { sessions, heldPolls, name } = application;
  const { sba, rpc, heapUsed } = minute;
  const active = sessions.REST + sessions.COMET_WEBSOCKET + sessions.COMET_LONG_POLLING;
  const errors = errorsOf(minute);
  const linkTo = (table: TableKind) => ({
    link: { to: TABLES[table].name, href: formatRoute({ application: name, table }) },
  });
  const figure = (
    def: DefinitionKey,
    label: string,
    format: (value: number | null) => string,
    value: (period: Period) => number | null,
  ): Figure => {
    const usual = compareWithUsual(minute, minutes, value);
    return { def, label, value: format(value(minute)), usual: describeUsual(usual, format), ...linkTo('rpc') };
  };
  return [
    figure('minute.rate', 'Calls /s', formatRate, (period) => perSecond(period.rpc.count + period.sba.count, period)),
    figure('minute.p50', 'RPC p50', formatDuration, (period) => period.rpc.p50),
    figure('minute.p95', 'RPC p95', formatDuration, (period) => period.rpc.p95),
    figure('minute.p99', 'RPC p99', formatDuration, (period) => period.rpc.p99),
    {
      ...figure('minute.errors', 'Errors', (value) => formatCount(value ?? 0), errorsOf),
      isBad: errors > 0,
      ...(errors > 0 ? { note: formatPercent(errorShareOf(minute)) } : {}),
      ...linkTo(sba.errors > rpc.errors ? 'sba' : 'rpc'),
    },
    {
      ...figure(
        'now.sessions',
        'Sessions',
        (value) => formatCount(value ?? 0),
        (period) => period.sessions,
      ),
      value: formatCount(active),
      ...linkTo('sessions'),
    },
    { def: 'now.holds', label: 'Held polls', value: formatCount(heldPolls), ...linkTo('sessions') },
    ...(heapUsed === null
      ? []
      : [
          { def: 'now.heap', label: 'Heap', value: formatBytes(heapUsed), ...describeHeap(heapUsed, heapMax) } as const,
        ]),
  ];
}

function describeUsual(usual: Usual | undefined, format: (value: number) => string): Figure['usual'] {
  return usual === undefined ? undefined : { trend: usual.trend, text: format(usual.value) };
}

function describeHeap(used: number, max: number | null): { readonly note?: string } {
  return max === null ? {} : { note: `of ${formatBytes(max)}, ${formatPercent(used / max)}` };
}
