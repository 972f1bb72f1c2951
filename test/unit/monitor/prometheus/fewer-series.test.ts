import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { counter, createTable } from '../../../../src/base/metric-description.ts';
import { renderTables } from '../../../../src/monitor/prometheus/exposition.ts';
import { FewerSeries, type SeriesOptions } from '../../../../src/monitor/prometheus/fewer-series.ts';
import { createPlant, MS } from '../../../support/monitor/prometheus/plant.ts';
import { samplesOf, sumOf } from '../../../support/monitor/prometheus/samples.ts';

/** Counts of a plant by name. Folding a name adds its count to `(other)`, as the table of names does. */
class Names {
  readonly counts = new Map<string, number>([['(other)', 0]]);
  readonly fewer = new FewerSeries({ objects: 'all', names: 3 });

  count(name: string): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
  }

  fold(name: string): void {
    const count = this.counts.get(name) ?? 0;
    if (!this.counts.delete(name)) return;
    this.counts.set('(other)', (this.counts.get('(other)') ?? 0) + count);
    this.fewer.fold('a', 'rpc', name);
  }

  read(): Map<string, number> {
    const calls = counter('calls_total', 'Calls.', () => ({ a: { rpc: this.counts } }), 'application', 'kind', 'name');
    return samplesOf([...renderTables(this.fewer.apply([createTable(calls, {})]), 'text')].join(''));
  }
}

it.each([1, 2, 3, 4, 5])('no counter falls, whatever is counted and folded between reads: seed %d', (seed) => {
  const names = new Names();
  const last = new Map<string, number>();
  let state = seed;
  const next = (below: number) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
  for (let total = 0; total < 200; ) {
    const name = `n${next(8)}`;
    if (next(4) === 0) names.fold(name);
    else {
      names.count(name);
      total += 1;
    }
    // Several changes may come between two reads.
    if (next(3) > 0) continue;
    const samples = names.read();
    expect(sumOf(samples, 'calls_total')).toBe(total);
    for (const [key, value] of samples) {
      expect(value, key).toBeGreaterThanOrEqual(last.get(key) ?? 0);
      last.set(key, value);
    }
  }
});

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
