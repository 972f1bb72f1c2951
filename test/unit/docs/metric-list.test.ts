/** The names of metrics are stable: each change is in CHANGELOG.md, and then in scripts/metrics.json. */
import { expect, it } from 'vitest';
import { FAMILIES, formOf, LIST_FILE, type MetricList, updateList } from '../../../scripts/metric-files.ts';
import type { Family } from '../../../src/base/metric-description.ts';
import { readProject } from '../../support/docs/documents.ts';
import { createPlant } from '../../support/monitor/prometheus/plant.ts';

const LIST = JSON.parse(readProject(LIST_FILE)) as MetricList;

it('every metric has the type, unit, labels and bounds of the list, and none of the list is gone', () => {
  const ofList = Object.entries(LIST).map(([name, { since: _, ...form }]) => [name, form] as const);
  const advice = 'name the metric, and what changes of it, in a line [CHANGE] of CHANGELOG.md; then npm run generate';
  expect(Object.fromEntries(FAMILIES.map((family) => [family.name, formOf(family)])), advice).toEqual(
    Object.fromEntries(ofList),
  );
});

it('the bounds are those of /metrics', async () => {
  const { statistics, created, text } = await createPlant();
  statistics.rpc.recordAnswered('E.Demo.Run', 200, 1);
  created.update(1);
  const shown = new Map<string, Set<number>>();
  for (const [, name = '', le = ''] of text().matchAll(/^(\w+)_bucket\{.*le="([\d.e-]+)"\}/gm))
    shown.set(name, (shown.get(name) ?? new Set()).add(Number(le)));
  expect(shown.size).toBeGreaterThan(1);
  for (const [name, bounds] of shown) expect([name, LIST[name]?.bounds]).toEqual([name, [...bounds]]);
});

const family: Family = { name: 'a_total', type: 'counter', help: '', labels: ['x'] };
const known = { a_total: { ...formOf(family), since: '0.1.0' } };
const update = (families: readonly Family[], ...changes: string[]) =>
  updateList(known, families, {
    version: '0.2.0',
    changelog: `# Changelog\n\n## Unreleased\n\n${changes.join('\n')}\n\n## 0.1.0\n\n- [CHANGE] \`a_total\` has \`y\`, and is a gauge.\n`,
  });

it.each<[string, Family[], string]>([
  ['a label', [{ ...family, labels: ['x', 'y'] }], '- [CHANGE] `a_total` has `y`.'],
  ['a type', [{ ...family, type: 'gauge' }], '- [CHANGE] `a_total` is a gauge.'],
  ['a name that is gone', [], '- [CHANGE] `a_total` is gone.'],
])('the list of metrics keeps what was until CHANGELOG.md names it: %s', (_, families, line) => {
  expect(update(families)).toEqual(known);
  expect(update(families, line.replace('[CHANGE]', '[FEATURE]'))).toEqual(known);
  expect(update(families, '- [CHANGE] `a_total_of` has `y` and 0.51, and is a gauge.')).toEqual(known);
  expect(update(families, line)).not.toEqual(known);
});
