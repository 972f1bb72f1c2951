/** The dashboards in `config/grafana` as data, and their queries as Grafana would send them. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type Dashboard, dashboardSchema } from './dashboard-schema.ts';

/** `d2-sidecar` is that of a site. */
export type DashboardName = 'd2-sidecar' | 'fleet';

const ROOT = path.resolve(import.meta.dirname, '../../..');

/** Throws if it violates the schema. `root`: of the project, for bundles. */
export function readDashboard(name: DashboardName = 'd2-sidecar', root = ROOT): Dashboard {
  return dashboardSchema.parse(readDashboardFile(name, root));
}

export function readDashboardFile(name: DashboardName = 'd2-sidecar', root = ROOT): unknown {
  return JSON.parse(readFileSync(path.join(root, `config/grafana/${name}.json`), 'utf8'));
}

const DURATIONS = { classic: 'seconds_bucket', native: 'seconds' } as const;

/** With the dashboard's variable `durations` set. */
export function queriesOf({ panels }: Dashboard, form: keyof typeof DURATIONS = 'classic') {
  return panels.flatMap((panel) =>
    panel.type === 'row'
      ? []
      : panel.targets.map(({ refId, expr, instant }) => ({
          ...{ name: `${panel.title} ${refId}`, isInstant: instant },
          expr: expr.replaceAll('$' + '{durations}', DURATIONS[form]),
        })),
  );
}

/** With the variables set, e.g. `{ job: 'd2-sidecar' }`. Throws for a variable without a value. */
export function substituted(expr: string, values: Readonly<Record<string, string>>): string {
  return expr.replace(/\$\{?(\w+)\}?/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`no value for the variable ${name} in ${expr}`);
    return value;
  });
}
