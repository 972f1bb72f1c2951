/** The charts of the history on disk: any range, beside another time, and what became slower. */
import { useCallback, useMemo, useRef } from 'preact/hooks';
import { type ChartSpec, COUNTS, RATES, SECONDS } from './chart-specs.ts';
import { ChartStack, useCursor } from './chart-stack.tsx';
import { Time } from './explanations.tsx';
import { CsvButton } from './filtered-table.tsx';
import { formatTime } from './format.ts';
import { greatest } from './history-points.ts';
import type { Shown } from './page-state.ts';
import {
  DAY_S,
  HOUR_S,
  type PastCalls,
  type PastPoint,
  type PastState,
  type PastValues,
  type PastView,
  zoomTo,
} from './past.ts';
import { createPointColumns } from './past-columns.ts';
import { PastTables } from './past-tables.tsx';
import { Choice, KINDS, RangeChoice } from './range-choice.tsx';

const MINUTE_S = 60;
const BEFORE_DASH = [4, 3];

const perMinute = ({ calls }: PastValues, seconds: number) =>
  calls === undefined ? null : calls.count / (seconds / MINUTE_S);

const CALLS: ChartSpec<PastPoint> = {
  title: 'Calls a minute',
  def: 'past.calls',
  ...RATES,
  lines: [
    { label: 'calls', colour: 'a', isFilled: true, value: ({ now, seconds }) => perMinute(now, seconds) },
    { label: 'before', colour: 'd', dash: BEFORE_DASH, value: ({ before, step }) => perMinute(before, step) },
  ],
};

const DURATIONS: ChartSpec<PastPoint> = {
  title: 'Duration',
  def: 'past.duration',
  ...SECONDS,
  hasSinglePoints: true,
  lines: [
    { label: 'p50', colour: 'a', value: ({ now }) => now.calls?.p50 ?? null },
    { label: 'p95', colour: 'c', value: ({ now }) => now.calls?.p95 ?? null },
    { label: 'p50 before', colour: 'a', dash: BEFORE_DASH, value: ({ before }) => before.calls?.p50 ?? null },
    { label: 'p95 before', colour: 'c', dash: BEFORE_DASH, value: ({ before }) => before.calls?.p95 ?? null },
  ],
};

const ERRORS: ChartSpec<PastPoint> = {
  title: 'Errors',
  def: 'past.errors',
  ...COUNTS,
  lines: [
    { label: 'errors', colour: 'c', isFilled: true, value: ({ now }) => now.calls?.errors ?? null },
    { label: 'before', colour: 'd', dash: BEFORE_DASH, value: ({ before }) => before.calls?.errors ?? null },
  ],
};

const SESSIONS: ChartSpec<PastPoint> = {
  title: 'Sessions',
  def: 'past.sessions',
  ...COUNTS,
  lines: [
    { label: 'at most', colour: 'b', isFilled: true, value: ({ now }) => now.sessions ?? null },
    { label: 'before', colour: 'd', dash: BEFORE_DASH, value: ({ before }) => before.sessions ?? null },
  ],
};

/** Lines of the time before are left out while nothing is compared. */
function selectSpecs(isSingle: boolean, isCompared: boolean): readonly ChartSpec<PastPoint>[] {
  const specs = isSingle ? [CALLS, DURATIONS, ERRORS] : [CALLS, DURATIONS, ERRORS, SESSIONS];
  if (isCompared) return specs;
  return specs.map((spec) => ({ ...spec, lines: spec.lines.filter(({ label }) => !label.endsWith('before')) }));
}

export function PastCharts(props: Shown) {
  const { state, live, nowMs, onView } = props;
  const { past } = state;
  const { view, item, table } = state.route;
  const chosen = view.past as PastView;
  const isSingle = item !== undefined && (table === 'rpc' || table === 'sba');
  const change = (some: Partial<PastView>) => onView({ past: { ...chosen, ...some } });
  const isRange = chosen.toS === undefined;
  return (
    <section class="panel charts past" aria-labelledby="charts-heading" aria-busy={past?.isOther}>
      <header class="panel-head">
        <h2 id="charts-heading">Over time</h2>
        <span class="moment">{isSingle ? item : ''}</span>
        {!isSingle && (
          <Choice name="Calls of" value={chosen.kind} choices={KINDS} onChoose={(kind) => change({ kind })} />
        )}
        <RangeChoice current={isRange ? chosen.rangeS : 0} past={chosen} {...{ live, onView }} />
      </header>
      <PastTools {...{ past, chosen, nowMs, change }} />
      {live.archive?.failure && <p class="note bad">{live.archive.failure}</p>}
      {past?.failure !== undefined && <p class="note bad">{past.failure}</p>}
      {past === undefined || (past.isReading && past.points.length === 0) ? (
        <p class="empty">Reading the history …</p>
      ) : (
        <>
          <PastStack {...{ past, chosen, isSingle, nowMs, change }} />
          <PastTables {...props} past={past} />
        </>
      )}
    </section>
  );
}

interface PartProps {
  readonly chosen: PastView;
  readonly nowMs: number;
  readonly change: (some: Partial<PastView>) => void;
}

type ZoomTo = (fromS: number, toS: number) => void;

function PastStack({ past, chosen, isSingle, nowMs, change }: PartProps & { past: PastState; isSingle: boolean }) {
  const { points, marks, query } = past;
  const isCompared = query.shiftS !== undefined;
  const specs = useMemo(() => selectSpecs(isSingle, isCompared), [isSingle, isCompared]);
  const data = useMemo(() => ({ points, marks, fromS: query.fromS, toS: query.toS }), [points, marks, query]);
  const cursor = useCursor(points);
  const whole = useMemo(() => sumUp(points), [points]);
  // One function for all renderings, since another one would build the charts anew.
  const zoom = useRef<ZoomTo>(undefined);
  zoom.current = (fromS, toS) => change(zoomTo(chosen, fromS, toS, nowMs / 1000));
  const onZoom = useCallback<ZoomTo>((fromS, toS) => zoom.current?.(fromS, toS), []);
  return (
    <>
      <output class="moment past-moment">
        {cursor.point === undefined ? '' : `From ${formatTime(cursor.point.t * 1000, nowMs)}`}
      </output>
      <ChartStack {...{ specs, data, cursor, nowMs, onZoom }} minute={whole} legendOf="greatest" />
    </>
  );
}

/** Of each line the greatest value, as one point. */
function sumUp(points: readonly PastPoint[]): PastPoint {
  const greatestOf = (values: readonly PastValues[]): PastValues => {
    const of = (key: keyof PastCalls) => greatest(values.map(({ calls }) => calls?.[key]));
    const count = of('count');
    const calls =
      count === null ? undefined : { count, errors: of('errors') ?? 0, p50: of('p50'), p95: of('p95'), max: null };
    return { calls, sessions: greatest(values.map(({ sessions }) => sessions)) ?? undefined };
  };
  const { step = MINUTE_S, seconds = MINUTE_S } = points[0] ?? {};
  const [now, before] = [points.map((point) => point.now), points.map((point) => point.before)];
  return { t: 0, step, seconds, now: greatestOf(now), before: greatestOf(before) };
}

/** Moves and zooms without a pointer, chooses the other time, and saves what is shown. */
function PastTools({ past, chosen, nowMs, change }: PartProps & { past: PastState | undefined }) {
  const nowS = nowMs / 1000;
  const toS = chosen.toS ?? nowS;
  const fromS = toS - chosen.rangeS;
  const [half, quarter] = [chosen.rangeS / 2, chosen.rangeS / 4];
  const moves = [
    { name: 'Earlier', sign: '‹', from: fromS - half, to: toS - half },
    { name: 'Later', sign: '›', from: fromS + half, to: Math.min(nowS, toS + half) },
    { name: 'Zoom in', sign: '+', from: fromS + quarter, to: toS - quarter },
    { name: 'Zoom out', sign: '−', from: fromS - half, to: Math.min(nowS, toS + half) },
  ];
  return (
    <div class="table-tools past-tools">
      <span class="past-range">
        <Time epochMs={fromS * 1000} nowMs={nowMs} /> to{' '}
        {chosen.toS === undefined ? 'now' : <Time epochMs={toS * 1000} nowMs={nowMs} />}
      </span>
      <fieldset class="choice">
        <legend class="hidden">Move and zoom; or draw a range in a chart</legend>
        {moves.map(({ name, sign, from, to }) => (
          <button key={name} type="button" aria-label={name} onClick={() => change(zoomTo(chosen, from, to, nowS))}>
            {sign}
          </button>
        ))}
      </fieldset>
      <Compare {...{ chosen, change }} fromS={fromS} />
      {past !== undefined && !past.isOther && past.points.length > 0 && (
        <CsvButton
          name={`${past.query.name} over time`}
          columns={createPointColumns(past.query.shiftS !== undefined)}
          rows={past.points}
        />
      )}
    </div>
  );
}

const SHIFTS: Readonly<Record<string, number | undefined>> = {
  ...{ nothing: undefined, 'the day before': DAY_S, 'the week before': 7 * DAY_S },
};
const OTHER = 'another time';

/** Shifts are whole hours, so that the steps of both times begin at the same places. */
function Compare({ chosen: { shiftS }, fromS, change }: Omit<PartProps, 'nowMs'> & { fromS: number }) {
  const known = Object.keys(SHIFTS).find((name) => SHIFTS[name] === shiftS);
  const choose = (name: string) => change({ shiftS: name in SHIFTS ? SHIFTS[name] : 2 * DAY_S });
  return (
    <>
      <label class="compare">
        Compare with{' '}
        <select value={known ?? OTHER} onChange={(event) => choose(event.currentTarget.value)}>
          {[...Object.keys(SHIFTS), OTHER].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {known === undefined && <OtherTime {...{ fromS, change }} shiftS={shiftS ?? 0} />}
    </>
  );
}

/** Takes effect at the button or with Enter: a date that is half typed is a valid one, too, and must not be requested. */
function OtherTime({ fromS, shiftS, change }: Pick<PartProps, 'change'> & { fromS: number; shiftS: number }) {
  const field = useRef<HTMLInputElement>(null);
  const submit = (event: Event) => {
    event.preventDefault();
    const hours = Math.round((fromS - Date.parse(field.current?.value ?? '') / 1000) / HOUR_S);
    if (hours > 0) change({ shiftS: hours * HOUR_S });
  };
  // With another key the field gets the new default.
  return (
    <form class="compare" onSubmit={submit} key={shiftS}>
      <input
        ref={field}
        type="datetime-local"
        aria-label="Beginning of the other time"
        required
        max={formatInput(fromS - HOUR_S)}
        defaultValue={formatInput(fromS - shiftS)}
      />{' '}
      <button type="submit" class="link">
        Show
      </button>
    </form>
  );
}

/** As the field wants it: local, without a zone. */
function formatInput(seconds: number): string {
  const local = new Date(seconds * 1000);
  return new Date(local.getTime() - local.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
