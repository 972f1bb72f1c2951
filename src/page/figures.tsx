/** The figures of the last minute and now, compared with the usual ones; each links to its table, except the heap. */
import { useMemo } from 'preact/hooks';
import type { DefinitionKey } from '../base/definitions.ts';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRate } from '../base/figures.ts';
import { type Figure, FigureList } from './figure-list.tsx';
import {
  compareWithUsual,
  errorShareOf,
  errorsOf,
  type Period,
  perSecond,
  selectUsualMinutes,
} from './history-points.ts';
import type { TableKind } from './live-data.ts';
import type { Shown } from './page-state.ts';
import { formatRoute } from './route.ts';
import { TABLES } from './tables.tsx';

export function MinuteFigures(props: Shown) {
  const { points, application } = props;
  const { stepSeconds } = application.history;
  const minutes = useMemo(() => selectUsualMinutes(points, stepSeconds), [points, stepSeconds]);
  return (
    <section class="figures" aria-label="The last minute">
      <FigureList figures={selectFigures(props, minutes)} />
    </section>
  );
}

/** `minutes`: those of the hour before. */
function selectFigures({ live, application, minute }: Shown, minutes: readonly Period[]): readonly Figure[] {
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
    const shown = usual && { trend: usual.trend, text: format(usual.value) };
    return { def, label, value: format(value(minute)), usual: shown, ...linkTo('rpc') };
  };
  const count = (value: number | null) => formatCount(value ?? 0);
  return [
    figure('minute.rate', 'Calls /s', formatRate, (period) => perSecond(period.rpc.count + period.sba.count, period)),
    figure('minute.p50', 'RPC p50', formatDuration, (period) => period.rpc.p50),
    figure('minute.p95', 'RPC p95', formatDuration, (period) => period.rpc.p95),
    figure('minute.p99', 'RPC p99', formatDuration, (period) => period.rpc.p99),
    {
      ...figure('minute.errors', 'Errors', count, errorsOf),
      isBad: errors > 0,
      // The share in the verdict is of calls of all kinds.
      ...(errors > 0 ? { note: `${formatPercent(errorShareOf(minute))} of RPC and SBA` } : {}),
      ...linkTo(sba.errors > rpc.errors ? 'sba' : 'rpc'),
    },
    {
      ...figure('now.sessions', 'Sessions', count, (period) => period.sessions),
      value: formatCount(active),
      ...linkTo('sessions'),
    },
    { def: 'now.holds', label: 'Held polls', value: formatCount(heldPolls), ...linkTo('sessions') },
    ...(heapUsed === null ? [] : [selectHeap(heapUsed, live.jvm.heapMax)]),
  ];
}

function selectHeap(used: number, max: number | null): Figure {
  const note = max === null ? {} : { note: `of ${formatBytes(max)}, ${formatPercent(used / max)}` };
  return { def: 'now.heap', label: 'Heap', value: formatBytes(used), ...note };
}
