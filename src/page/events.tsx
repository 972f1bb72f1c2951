/** The marks of the charts in words, newest first. */
import { formatMarkName } from './draw-marks.ts';
import type { Mark } from './live-data.ts';
import { Time } from './time.tsx';

/** The charts show all of them. */
const MAX_EVENTS = 20;

export function Events({ marks, nowMs }: { marks: readonly Mark[]; nowMs: number }) {
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
