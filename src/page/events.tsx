/** The marks of the charts in words, newest first. */
import { formatMarkName } from './draw-marks.ts';
import type { Mark } from './live-data.ts';
import type { Shown } from './page-state.ts';
import { Time } from './time.tsx';

/** The charts show all of them. */
const MAX_EVENTS = 20;

interface EventsProps extends Pick<Shown, 'state' | 'live' | 'nowMs' | 'onView'> {
  readonly marks: readonly Mark[];
}

export function Events({ marks, state, live, nowMs, onView }: EventsProps) {
  const { past } = state.route.view;
  if (marks.length === 0) return null;
  return (
    <details class="panel events" open={isWide()}>
      <summary>What happened ({marks.length})</summary>
      <ol>
        {marks
          .slice(-MAX_EVENTS)
          .reverse()
          .map((mark) => (
            <li key={`${mark.t} ${mark.kind}`}>
              <Time epochMs={mark.t * 1000} nowMs={nowMs} /> <b>{formatMarkName(mark.kind)}</b> {mark.text}
              {live.archive !== null && past !== undefined && (
                <button
                  type="button"
                  class="link"
                  aria-pressed={past.sinceS === mark.t}
                  onClick={() => onView({ past: { ...past, sinceS: past.sinceS === mark.t ? undefined : mark.t } })}
                >
                  Slower since?
                </button>
              )}
            </li>
          ))}
      </ol>
    </details>
  );
}

/** Whether the list fills the space below the tables; on a phone it would push the charts down. */
function isWide(): boolean {
  return matchMedia('(min-width: 1160px)').matches;
}
