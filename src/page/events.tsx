/** The marks of the charts in words, newest first. */
import { formatMarkName } from './draw-marks.ts';
import { Time } from './explanations.tsx';
import type { Mark } from './live-data.ts';
import type { Shown } from './page-state.ts';
import { NOTHING_CHOSEN } from './past.ts';

/** The charts show all of them. */
const MAX_EVENTS = 20;
/** Of the history, where the list is for choosing one. */
const MAX_PAST_EVENTS = 200;

interface EventsProps extends Pick<Shown, 'state' | 'live' | 'nowMs' | 'onView'> {
  readonly marks: readonly Mark[];
}

export function Events({ marks, state, live, nowMs, onView }: EventsProps) {
  const { past } = state.route.view;
  if (marks.length === 0) return null;
  const shown = marks.slice(past === undefined ? -MAX_EVENTS : -MAX_PAST_EVENTS).reverse();
  const choose = (t: number) => {
    onView({ past: { ...(past ?? NOTHING_CHOSEN), sinceS: past?.sinceS === t ? undefined : t } });
  };
  // Where the list fills the space below the tables, it is open; on a phone it would push the charts down.
  return (
    <details class="panel events" open={matchMedia('(min-width: 1160px)').matches}>
      <summary>What happened ({marks.length})</summary>
      <ol>
        {shown.map((mark) => (
          <li key={`${mark.t} ${mark.kind}`}>
            <Time epochMs={mark.t * 1000} nowMs={nowMs} /> <b>{formatMarkName(mark.kind)}</b> {mark.text}
            {live.archive !== null && (
              <button type="button" class="link" aria-pressed={past?.sinceS === mark.t} onClick={() => choose(mark.t)}>
                Slower since?
              </button>
            )}
          </li>
        ))}
      </ol>
      {shown.length < marks.length && (
        <p class="note">The last {shown.length}. Choose a shorter time for the others.</p>
      )}
    </details>
  );
}
