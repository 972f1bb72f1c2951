/** The targets of calls, and how much of the month's allowance each has used. */
import { DataTable } from './data-table.tsx';
import { useList } from './filtered-table.tsx';
import type { Target } from './live-data.ts';
import type { Shown } from './page-state.ts';
import { formatRoute } from './route.ts';
import { Spark } from './spark.tsx';
import { describeHour, TARGET_COLUMNS } from './table-columns.ts';

const MINUTES = 60;

export function Targets({ state, application, nowMs, onView }: Shown) {
  const list = useList('targets', 'used', { rows: application.targets, columns: TARGET_COLUMNS }, { state, onView });
  return (
    <section class="panel targets" aria-labelledby="targets-heading">
      <div class="panel-head">
        <h2 id="targets-heading">Targets</h2>
      </div>
      <DataTable
        {...{ ...list, nowMs, caption: 'Targets', emptyText: 'No targets.' }}
        keyOf={({ name }) => name}
        href={(target) => formatTargetHash(target, application.name)}
        cells={{ hour: (target) => <LastHour target={target} /> }}
      />
    </section>
  );
}

/** Leads to the call, or to the table of those that the target is of. */
function formatTargetHash({ name, kind }: Target, application: string): string {
  if (!name.endsWith('*')) return formatRoute({ application, table: kind, item: name });
  return `${formatRoute({ application, table: kind })}?filter=${encodeURIComponent(name.slice(0, -1))}`;
}

/** The wanted share is in the upper part, whatever it is: that of 99 % would else look like that of 100 %. */
function LastHour({ target }: { target: Target }) {
  const { share, hour } = target;
  const young = Array.from({ length: MINUTES - hour.length }, () => null);
  const least = Math.max(0, 1 - 4 * Math.max(1 - share, 0.001));
  return <Spark values={[...young, ...hour]} {...{ least, line: share, label: describeHour(target) }} />;
}
