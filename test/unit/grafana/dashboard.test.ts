import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { queriesOf, readDashboard, readDashboardFile, substituted } from '../../support/grafana/dashboard.ts';
import { dashboardSchema } from '../../support/grafana/dashboard-schema.ts';

type Node = Record<string, unknown>;

const DOCUMENT = readFileSync(new URL('../../../docs/prometheus.md', import.meta.url), 'utf8');

describe('the dashboard', () => {
  it('has the form that Grafana reads', () => {
    expect(dashboardSchema.safeParse(readDashboardFile()).error?.issues ?? []).toEqual([]);
  });

  /** The real dashboard with a single fault, at `at`. */
  it.each<[what: string, at: string, value: unknown]>([
    ['an unknown field', 'titel', 'd2-sidecar'],
    ['a version that Grafana would have to migrate', 'schemaVersion', 16],
    ['no panels at all', 'panels', []],
    ['a panel of an unknown kind', 'panels.1.type', 'graph'],
    ['a panel that exceeds the grid', 'panels.1.gridPos.x', 21],
    ['a panel without queries', 'panels.1.targets', []],
    ['a panel with the data source of a single site', 'panels.1.datasource.uid', 'PBFA97CFB590B2093'],
    ['a query of another data source', 'panels.1.targets.0.datasource.uid', 'default'],
    ['a query at one moment and over a range', 'panels.1.targets.0.range', true],
    ['two queries with the same letter', 'panels.10.targets.1.refId', 'A'],
    ['an unknown unit', 'panels.1.fieldConfig.defaults.unit', 'seconds'],
    ['a row that hides its panels', 'panels.0.collapsed', true],
    ['a variable of another data source', 'templating.list.1.datasource.uid', 'default'],
  ])('would be refused with %s', (_what, at, value) => {
    const dashboard = readDashboardFile() as Node;
    const names = at.split('.');
    const last = names.pop() ?? '';
    const parent = names.reduce((node, name) => node[name] as Node, dashboard);
    if (value === undefined) delete parent[last];
    else parent[last] = value;
    expect(dashboardSchema.safeParse(dashboard).success).toBe(false);
  });

  it('has panels with distinct places, numbers and titles', () => {
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

  it('puts traffic above the JVM, with the same width, so that their time axes align', () => {
    const { panels } = readDashboard();
    const titles = ['Calls', 'Errors', 'Durations', 'Heap', 'Collections', 'Pause'];
    const found = panels.filter(({ type, title }) => type === 'timeseries' && titles.includes(title));
    expect(found.map(({ title }) => title)).toEqual(titles);
    expect(found.map(({ gridPos: { x, w } }) => [x, w])).toEqual(titles.map(() => [0, 24]));
  });

  it('filters by job and instance everywhere, and by application where there is one', () => {
    for (const { name, expr } of queriesOf(readDashboard())) {
      for (const [, metric = '', matchers = ''] of expr.matchAll(/\b(\w+)\{(.*?)\}/g)) {
        expect([name, matchers]).toEqual([name, expect.stringContaining('job="$job", instance=~"$instance"')]);
        const isOfApplication = /^d2_(call_|calls_total|session|object|sidecar_names)/.test(metric);
        const isFiltered = matchers.includes('application=~"$application"');
        expect([name, metric, isFiltered]).toEqual([name, metric, isOfApplication]);
      }
      const known = { job: '', instance: '', application: '', __rate_interval: '', __range: '' };
      expect(substituted(expr, known)).not.toContain('$');
    }
  });

  it('queries only what docs/prometheus.md lists', () => {
    const listed = new Set([...DOCUMENT.matchAll(/^\| `(\w+)(?:\{[\w,]+\})?` +\|/gm)].map(([, name]) => name));
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
