/** Labelled numbers, and those of the last minute and now, compared with the usual ones; each links to its table, except the heap. */

import type { DefinitionKey } from '../base/definitions.ts';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRate } from '../base/figures.ts';
import { Term } from './explanations.tsx';
import {
  compareWithUsual,
  errorShareOf,
  errorsOf,
  type Period,
  perSecond,
  type Trend,
  type Usual,
} from './history-points.ts';
import type { LiveApplication, TableKind } from './live-data.ts';
import { formatRoute } from './route.ts';
import { goToTables } from './scroll-to-tables.ts';
import { TABLES } from './tables.tsx';

export interface Figure {
  readonly def: DefinitionKey;
  readonly label: string;
  readonly value: string;
  readonly note?: string;
  readonly isBad?: boolean;
  readonly usual?: { readonly trend: Trend; readonly text: string } | undefined;
  readonly link?: { readonly href: string; readonly table: TableKind };
}

export function FigureList({ figures }: { figures: readonly Figure[] }) {
  return (
    <dl class="figure-list">
      {figures.map((figure) => (
        <div
          key={`${figure.def} ${figure.label}`}
          class={figure.isBad === true ? 'figure bad' : 'figure'}
          data-def={figure.def}
        >
          <dt>
            <Term def={figure.def}>{figure.label}</Term>
          </dt>
          <dd>
            <Value {...figure} />
          </dd>
          {figure.usual !== undefined && <UsualValue {...figure.usual} />}
        </div>
      ))}
    </dl>
  );
}

function Value({ value, note, link }: Figure) {
  const shown = (
    <>
      {value} {note !== undefined && <small>{note}</small>}
    </>
  );
  if (link === undefined) return shown;
  return (
    <a
      href={link.href}
      aria-label={`${value}${note === undefined ? '' : ` ${note}`}, to the table of ${TABLES[link.table].name}`}
      onClick={goToTables}
    >
      {shown}
    </a>
  );
}

const SIGNS: Readonly<Record<Trend, string>> = { up: '▲', down: '▼', same: '=' };

function UsualValue({ trend, text }: { trend: Trend; text: string }) {
  return (
    <dd class={`usual ${trend}`}>
      <Term def="usual">
        <span aria-hidden="true">{SIGNS[trend]} </span>
        <span class="hidden">{trend}, </span>
        <span class="usual-word">usual </span>
        {text}
      </Term>
    </dd>
  );
}

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
  const linkTo = (table: TableKind) => ({ link: { table, href: formatRoute({ application: name, table }) } });
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
