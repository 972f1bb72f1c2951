/** The last minute, and now, in a row of numbers. */
import type { DefinitionKey } from './definitions.ts';
import { Term } from './explanations.tsx';
import { toBytes, toCount, toDuration, toPercent, toRate } from './format.ts';
import { errorShareOf, toMinute } from './history.ts';
import type { HistoryPoint, LiveApplication } from './live-data.ts';

interface Figure {
  readonly def: DefinitionKey;
  readonly label: string;
  readonly value: string;
  readonly note?: string;
  readonly isBad?: boolean;
}

export function Figures({ application, points }: { application: LiveApplication; points: readonly HistoryPoint[] }) {
  return (
    <section class="figures" aria-label="The last minute">
      <dl>
        {toFigures(application, points).map(({ def, label, value, note, isBad }) => (
          <div key={def} class={isBad === true ? 'figure bad' : 'figure'} data-def={def}>
            <dt>
              <Term def={def}>{label}</Term>
            </dt>
            <dd>
              {value}
              {note !== undefined && <small> {note}</small>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function toFigures({ history, sessions, holds }: LiveApplication, points: readonly HistoryPoint[]): readonly Figure[] {
  const minute = toMinute(points, history.stepSeconds);
  const heap = points.at(-1)?.heapUsed ?? null;
  const share = errorShareOf(minute);
  const active = sessions.REST + sessions.COMET_WEBSOCKET + sessions.COMET_LONG_POLLING;
  return [
    { def: 'minute.rate', label: 'Calls /s', value: toRate(minute.rate) },
    { def: 'minute.p50', label: 'RPC p50', value: toDuration(minute.p50) },
    { def: 'minute.p95', label: 'RPC p95', value: toDuration(minute.p95) },
    { def: 'minute.p99', label: 'RPC p99', value: toDuration(minute.p99) },
    {
      def: 'minute.errors',
      label: 'Errors',
      value: toCount(minute.errors),
      isBad: minute.errors > 0,
      ...(minute.errors > 0 ? { note: toPercent(share) } : {}),
    },
    { def: 'now.sessions', label: 'Sessions', value: toCount(active) },
    { def: 'now.holds', label: 'Held polls', value: toCount(holds.now) },
    ...(heap === null ? [] : [{ def: 'now.heap', label: 'Heap', value: toBytes(heap) } as const]),
  ];
}
