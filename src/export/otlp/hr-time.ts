import type { HrTime } from '@opentelemetry/api';

const MS_PER_S = 1_000;
const NS_PER_MS = 1e6;

/** OpenTelemetry's time, e.g. 1500.25 ms as `[1, 500250000]`: seconds and nanoseconds, since 1970 or of a duration. */
export function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / MS_PER_S);
  // Below a second even after rounding: a whole one would have to be carried.
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * MS_PER_S) * NS_PER_MS))];
}
