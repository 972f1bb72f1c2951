/** A time in the reader's zone, with UTC on hover and focus. */
import { formatTime, formatUtc } from './format.ts';

export function Time({ epochMs, nowMs }: { epochMs: number; nowMs: number }) {
  const [time, utc] = [formatTime(epochMs, nowMs), formatUtc(epochMs)];
  return (
    <button type="button" class="term" aria-label={`${time}, ${utc}`} data-more={utc}>
      <time dateTime={new Date(epochMs).toISOString()}>{time}</time>
    </button>
  );
}
