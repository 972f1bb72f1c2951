import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { queriesOf, readDashboard, readDashboardFile, substituted } from './dashboard.ts';
import { dashboardSchema } from './dashboard-schema.ts';

const DOCUMENT = readFileSync(new URL('../../docs/prometheus.md', import.meta.url), 'utf8');

describe('the dashboard', () => {
  it('is of the form that Grafana reads', () => {
    expect(dashboardSchema.safeParse(readDashboardFile()).error?.issues ?? []).toEqual([]);
  });

  it.each([
    ['a field that there is not', { titel: 'd2-sidecar' }],
    ['a version that Grafana would have to migrate', { schemaVersion: 16 }],
    ['panels without a shared time', { graphTooltip: 0 }],
    [
      'a panel of an unknown kind',
      { panels: [{ id: 1, type: 'graph', title: 'a', gridPos: { x: 0, y: 0, w: 1, h: 1 } }] },
    ],
  ])('would not be with %s', (_what, change) => {
    expect(dashboardSchema.safeParse({ ...(readDashboardFile() as object), ...change }).success).toBe(false);
  });

  it('has panels of one place, number and title each', () => {
    const { panels } = readDashboard();
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const shown = panels.filter(({ type }) => type !== 'row');
    const keys = panels.map(({ title, type }) => `${type} ${title}`);
    expect(new Set(keys).size).toBe(keys.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(shown.length).toBeGreaterThan(30);
  });

  it('has traffic and the JVM below each other, over the same width, so that their times are in line', () => {
    const { panels } = readDashboard();
    const titles = ['Calls', 'Errors', 'Durations', 'Heap', 'Collections', 'Pause'];
    const found = panels.filter(({ type, title }) => type === 'timeseries' && titles.includes(title));
    expect(found.map(({ title }) => title)).toEqual(titles);
    expect(found.map(({ gridPos: { x, w } }) => [x, w])).toEqual(titles.map(() => [0, 24]));
  });

  it('asks for the chosen job and instance everywhere, and for the application where there is one', () => {
    for (const { name, expr } of queriesOf(readDashboard())) {
      for (const [, metric = '', matchers = ''] of expr.matchAll(/\b(\w+)\{(.*?)\}/g)) {
        expect([name, matchers]).toEqual([name, expect.stringContaining('job="$job", instance=~"$instance"')]);
        const isOfApplication = /^d2_(call_|calls_total|session|object|sidecar_names)/.test(metric);
        expect([name, metric, matchers.includes('application=~"$application"')]).toEqual([
          name,
          metric,
          isOfApplication,
        ]);
      }
      const known = { job: '', instance: '', application: '', __rate_interval: '', __range: '' };
      expect(substituted(expr, known)).not.toContain('$');
    }
  });

  it('asks for nothing that docs/prometheus.md does not list', () => {
    const listed = new Map(
      [...DOCUMENT.matchAll(/^\| `(\w+)` +\| (\w+)/gm)].map(([, name = '', type]) => [name, type]),
    );
    for (const { name, expr } of queriesOf(readDashboard())) {
      const metrics = [...expr.matchAll(/\b(\w+)\{/g)].map(([, metric = '']) => metric);
      expect(metrics.length).toBeGreaterThan(0);
      for (const metric of metrics) {
        const family = listed.has(metric) ? metric : metric.replace(/_(bucket|sum|count)$/, '');
        expect([name, metric, listed.has(family)]).toEqual([name, metric, true]);
      }
    }
  });
});
