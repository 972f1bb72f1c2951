import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { queriesOf, readDashboard, readDashboardFile, substituted } from '../../support/grafana/dashboard.ts';
import { dashboardSchema } from '../../support/grafana/dashboard-schema.ts';
import { FLEET_RULES_PATH, readRuleGroups } from '../../support/prometheus/rules-file.ts';

const FORMS = ['classic', 'native'] as const;
const DOCUMENT = readFileSync(new URL('../../../docs/prometheus.md', import.meta.url), 'utf8');

const NAMES = ['d2-sidecar', 'fleet'] as const;

it.each(NAMES)(
  'the dashboard %s has the form that Grafana reads, and panels with distinct places, numbers and titles',
  (name) => {
    expect(dashboardSchema.safeParse(readDashboardFile(name)).error?.issues ?? []).toEqual([]);
    const { panels } = readDashboard(name);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const keys = panels.map(({ title, type }) => `${type} ${title}`);
    expect(new Set(keys).size).toBe(keys.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.length).toBeGreaterThan(name === 'fleet' ? 20 : 30);
  },
);

it.each(FORMS)(
  'the dashboard filters by job and instance everywhere, by application where there is one, and queries only what docs/prometheus.md lists: %s',
  (form) => {
    const listed = new Set([...DOCUMENT.matchAll(/^\| `(\w+)(?:\{[\w,]+\})?` +\|/gm)].map(([, name]) => name));
    for (const { name, expr } of queriesOf(readDashboard(), form)) {
      const queried = [...expr.matchAll(/\b(\w+)\{(.*?)\}/g)];
      expect(queried.length).toBeGreaterThan(0);
      for (const [, metric = '', matchers = ''] of queried) {
        expect([name, matchers]).toEqual([name, expect.stringContaining('job="$job", instance=~"$instance"')]);
        const isOfApplication =
          /^d2_(call_|calls_(total|running|hung|late)|session|object|sidecar_(names|verdict))/.test(metric);
        const isFiltered = matchers.includes('application=~"$application"');
        const family = listed.has(metric) ? metric : metric.replace(/_(bucket|sum|count)$/, '');
        expect([name, metric, isFiltered, listed.has(family)]).toEqual([name, metric, isOfApplication, true]);
      }
      const known = { job: '', instance: '', application: '', __rate_interval: '', __range: '' };
      expect(substituted(expr, known)).not.toContain('$');
    }
  },
);

it('the dashboard of a fleet filters by job everywhere, and reads recordings that exist or metrics that docs/prometheus.md lists', () => {
  const rules = [...readRuleGroups(), ...readRuleGroups(FLEET_RULES_PATH)].flatMap((group) => group.rules);
  const recorded = rules.map(({ record }) => record);
  for (const { name, expr } of queriesOf(readDashboard('fleet'))) {
    const read = [...expr.matchAll(/([\w:]+)\{(.*?)\}/g)];
    expect(read.length).toBeGreaterThan(0);
    for (const [, metric = '', matchers = ''] of read) {
      expect([name, matchers]).toEqual([name, expect.stringContaining('job="$job"')]);
      const isKnown = recorded.includes(metric) || DOCUMENT.includes(`| \`${metric.replace(/_(sum|count)$/, '')}`);
      expect([name, metric, isKnown || metric === 'up']).toEqual([name, metric, true]);
    }
    expect(substituted(expr, { job: '', __range: '' })).not.toContain('$');
  }
});
