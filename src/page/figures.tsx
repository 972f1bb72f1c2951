/** A row of figures for the last minute and now. Each links to its table, except the heap. */

import type { DefinitionKey } from '../base/definitions.ts';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRate } from '../base/figures.ts';
import { Term } from './explanations.tsx';
import { errorShareOf, errorsOf, type Period, perSecond } from './history-points.ts';
import type { LiveApplication, TableKind } from './live-data.ts';
import { formatRoute } from './route.ts';
import { goToTables } from './scroll-to-tables.ts';
import { TABLES } from './tables.tsx';

interface Figure {
  readonly def: DefinitionKey;
  readonly label: string;
  readonly value: string;
  readonly note?: string;
  readonly isBad?: boolean;
  readonly table?: TableKind;
}

export interface FiguresProps {
  readonly application: LiveApplication;
  readonly minute: Period;
  readonly heapMax: number | null;
}

export function Figures({ application, minute, heapMax }: FiguresProps) {
  return (
    <section class="figures" aria-label="The last minute">
      <dl>
        {selectFigures(application, minute, heapMax).map((figure) => (
          <div key={figure.def} class={figure.isBad === true ? 'figure bad' : 'figure'} data-def={figure.def}>
            <dt>
              <Term def={figure.def}>{figure.label}</Term>
            </dt>
            <dd>
              <Value figure={figure} application={application.name} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Value({ figure: { value, note, table }, application }: { figure: Figure; application: string }) {
  const shown = (
    <>
      {value} {note !== undefined && <small>{note}</small>}
    </>
  );
  if (table === undefined) return shown;
  return (
    <a
      href={formatRoute({ application, table, item: undefined })}
      aria-label={`${value}${note === undefined ? '' : ` ${note}`}, to the table of ${TABLES[table].name}`}
      onClick={goToTables}
    >
      {shown}
    </a>
  );
}

function selectFigures(
  { sessions, heldPolls }: LiveApplication,
  minute: Period,
  heapMax: number | null,
): readonly Figure[] {
  const { rpc, sba, heapUsed } = minute;
  const errors = errorsOf(minute);
  const rate = perSecond(rpc.count + sba.count, minute);
  const active = sessions.REST + sessions.COMET_WEBSOCKET + sessions.COMET_LONG_POLLING;
  return [
    { def: 'minute.rate', label: 'Calls /s', value: formatRate(rate), table: 'rpc' },
    { def: 'minute.p50', label: 'RPC p50', value: formatDuration(rpc.p50), table: 'rpc' },
    { def: 'minute.p95', label: 'RPC p95', value: formatDuration(rpc.p95), table: 'rpc' },
    { def: 'minute.p99', label: 'RPC p99', value: formatDuration(rpc.p99), table: 'rpc' },
    {
      def: 'minute.errors',
      label: 'Errors',
      value: formatCount(errors),
      table: sba.errors > rpc.errors ? 'sba' : 'rpc',
      isBad: errors > 0,
      ...(errors > 0 ? { note: formatPercent(errorShareOf(minute)) } : {}),
    },
    { def: 'now.sessions', label: 'Sessions', value: formatCount(active), table: 'sessions' },
    { def: 'now.holds', label: 'Held polls', value: formatCount(heldPolls), table: 'sessions' },
    ...(heapUsed === null
      ? []
      : [
          { def: 'now.heap', label: 'Heap', value: formatBytes(heapUsed), ...describeHeap(heapUsed, heapMax) } as const,
        ]),
  ];
}

function describeHeap(used: number, max: number | null): { readonly note?: string } {
  return max === null ? {} : { note: `of ${formatBytes(max)}, ${formatPercent(used / max)}` };
}
