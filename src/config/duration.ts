/** Times as people write them: `500ms`, `30s`, `5m`, `1h`, `90d`, or a number of seconds. */

const MS_PER_UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A number without a unit is in seconds. */
export const DURATION_PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)?$/;

/** 500 hours. Node's timers overflow to 1 ms at 2^31 ms, some 596 hours. */
export const MAX_DURATION_MS = 500 * 3_600_000;

/** Whole milliseconds of e.g. `'1.5s'` (1500) or `30` (30000); undefined if it is not a duration. */
export function parseDurationMs(written: string | number): number | undefined {
  if (typeof written === 'number') {
    return Number.isFinite(written) && written >= 0 ? Math.round(written * 1_000) : undefined;
  }
  const [, amount, unit = 's'] = DURATION_PATTERN.exec(written) ?? [];
  return amount === undefined ? undefined : Math.round(Number(amount) * (MS_PER_UNIT[unit] ?? Number.NaN));
}

/** The text in the largest unit that leaves no fraction, e.g. `'5m'` for 300000 and `'90s'` for 90000; `0` for none. */
export function encodeDuration(durationMs: number): string | number {
  if (durationMs === 0) return 0;
  for (const unit of ['d', 'h', 'm', 's'] as const) {
    const perUnit = MS_PER_UNIT[unit] ?? 1;
    if (durationMs % perUnit === 0) return `${durationMs / perUnit}${unit}`;
  }
  return `${durationMs}ms`;
}
