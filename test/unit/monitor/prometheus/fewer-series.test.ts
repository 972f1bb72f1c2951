import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { renderTables } from '../../../../src/monitor/prometheus/exposition.ts';
import { FewerSeries, type SeriesOptions } from '../../../../src/monitor/prometheus/fewer-series.ts';
import { createPlant, MS } from '../../../support/monitor/prometheus/plant.ts';
import { samplesOf } from '../../../support/monitor/prometheus/samples.ts';

/** The table of series by setting in docs/fleet.md. */
const DOCUMENT = readFileSync(new URL('../../../../docs/fleet.md', import.meta.url), 'utf8');

async function countSeries(prometheus: SeriesOptions): Promise<number> {
  const { monitored, statistics } = await createPlant({ prometheus });
  for (let i = 0; i < 200; i += 1) statistics.rpc.recordAnswered(`E.A${i}`, 200, MS);
  for (let i = 0; i < 1_000; i += 1) statistics.object.recordRead(`H.A${i}`, 200);
  const tables = monitored.createTables(await monitored.sidecar.readProcess());
  return samplesOf([...renderTables(new FewerSeries(prometheus).apply(tables), 'text')].join('')).size;
}

it.each<[string, SeriesOptions]>([
  ['none', { objects: 'all' }],
  ['`objects: totals`', { objects: 'totals' }],
  ['`objects: totals`, `names: 50`', { objects: 'totals', names: 50 }],
  ['`objects: totals`, `names: 50`, 4 `buckets`', { objects: 'totals', names: 50, buckets: [0.01, 0.1, 1, 10] }],
])('the table has the series of 200 RPCs and 1,000 objects with %s', async (settings, options) => {
  expect(DOCUMENT).toContain(`| ${settings} | ${(await countSeries(options)).toLocaleString('en')} |`);
});
