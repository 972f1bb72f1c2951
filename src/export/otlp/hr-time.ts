import type { HrTime } from '@opentelemetry/api';

const MS_PER_S = 1_000;
const NS_PER_MS = 1e6;

/** OpenTelemetry's time as seconds and nanoseconds, e.g. `[1, 500250000]` for 1500.25 ms; since 1970, or a duration. */
export function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / MS_PER_S);
  // Capped, since rounding up to a whole second would need a carry.
  return [seconds, Math.min(999_999_999, Math.round((ms - seconds * MS_PER_S) * NS_PER_MS))];
}
