import type { Gauge } from '../metrics/gauge.ts';
import { emptyMetricSet, type MetricSet } from '../metrics/metric-set.ts';

/** `undefined`: the reading lacks the value, and there is no gauge: missing is not zero. */
export type GaugeRow = readonly [name: string, value: number | undefined, type?: Gauge['type']];

export function createGauges(rows: readonly GaugeRow[]): MetricSet {
  const gauges = new Map<string, Gauge>();
  for (const [name, value, type = 'integer'] of rows) {
    if (value !== undefined) gauges.set(name, { type, read: () => value });
  }
  return { ...emptyMetricSet, gauges };
}
