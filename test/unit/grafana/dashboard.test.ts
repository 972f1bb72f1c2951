import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { queriesOf, readDashboard, readDashboardFile, substituted } from '../../support/grafana/dashboard.ts';
import { dashboardSchema } from '../../support/grafana/dashboard-schema.ts';

const FORMS = ['classic', 'native'] as const;
const DOCUMENT = readFileSync(new URL('../../../docs/prometheus.md', import.meta.url), 'utf8');

it('the dashboard has the form that Grafana reads', () => {
  expect(dashboardSchema.safeParse(readDashboardFile()).error?.issues ?? []).toEqual([]);
});

it('the dashboard has panels with distinct places, numbers and titles', () => {
  const { panels } = readDashboard();
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const keys = panels.map(({ title, type }) => `${type} ${title}`);
  expect(new Set(keys).size).toBe(keys.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.length).toBeGreaterThan(30);
});

it.each(FORMS)(
  'the dashboard filters by job and instance everywhere, and by application where there is one: %s',
  (form) => {
    for (const { name, expr } of queriesOf(readDashboard(), form)) {
      for (const [, metric = '', matchers = ''] of expr.matchAll(/\b(\w+)\{(.*?)\}/g)) {
        expect([name, matchers]).toEqual([name, expect.stringContaining('job="$job", instance=~"$instance"')]);
        const isOfApplication =
          /^d2_(call_|calls_(total|running|hung|late)|session|object|sidecar_(names|verdict))/.test(metric);
        const isFiltered = matchers.includes('application=~"$application"');
        expect([name, metric, isFiltered]).toEqual([name, metric, isOfApplication]);
      }
      const known = { job: '', instance: '', application: '', __rate_interval: '', __range: '' };
      expect(substituted(expr, known)).not.toContain('$');
    }
  },
);

it.each(FORMS)('the dashboard queries only what docs/prometheus.md lists: %s', (form) => {
  const listed = new Set([...DOCUMENT.matchAll(/^\| `(\w+)(?:\{[\w,]+\})?` +\|/gm)].map(([, name]) => name));
  for (const { name, expr } of queriesOf(readDashboard(), form)) {
    const metrics = [...expr.matchAll(/\b(\w+)\{/g)].map(([, metric = '']) => metric);
    expect(metrics.length).toBeGreaterThan(0);
    for (const metric of metrics) {
      const family = listed.has(metric) ? metric : metric.replace(/_(bucket|sum|count)$/, '');
      expect([name, metric, listed.has(family)]).toEqual([name, metric, true]);
    }
  }
});
