/** `config/grafana/d2-sidecar.json` as data, and its queries as Grafana would send them. */
import { readFileSync } from 'node:fs';
import { type Dashboard, dashboardSchema } from './dashboard-schema.ts';

/** Throws if it violates the schema. */
export function readDashboard(): Dashboard {
  return dashboardSchema.parse(readDashboardFile());
}

export function readDashboardFile(): unknown {
  return JSON.parse(readFileSync(new URL('../../../config/grafana/d2-sidecar.json', import.meta.url), 'utf8'));
}

/** The values of the dashboard's variable `durations`. */
export const DURATIONS = { classic: 'seconds_bucket', native: 'seconds' } as const;

/** With `durations` set. */
export function queriesOf(
  { panels }: Dashboard,
  form: keyof typeof DURATIONS = 'classic',
): readonly { readonly name: string; readonly expr: string }[] {
  return panels.flatMap((panel) =>
    panel.type === 'row'
      ? []
      : panel.targets.map(({ refId, expr }) => ({
          name: `${panel.title} ${refId}`,
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
