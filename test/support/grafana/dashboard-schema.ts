/**
 * What Grafana's classic dashboard model (schemaVersion 39, as Grafana 10.4 and later read it) requires of our dashboard. Grafana
 * publishes it as TypeScript types only (`@grafana/schema`), so there is no JSON schema to check against.
 */
import { z } from 'zod';

const text = z.string().min(1);
const count = z.number().int().nonnegative();

const datasource = z.strictObject({ type: z.literal('prometheus'), uid: z.literal('$' + '{datasource}') });

const query = z
  .strictObject({
    ...{ refId: z.string().regex(/^[A-Z]$/), datasource, editorMode: z.literal('code') },
    ...{ expr: text, legendFormat: z.string(), instant: z.boolean(), range: z.boolean() },
  })
  .refine(({ instant, range }) => instant !== range, 'is either instant or over a range');

const queries = z
  .array(query)
  .min(1)
  .refine((all) => new Set(all.map(({ refId }) => refId)).size === all.length, 'has two queries of one letter');

/** Grafana's grid has 24 columns. */
const gridPos = z
  .strictObject({ x: count.max(23), y: count, w: count.min(1).max(24), h: count.min(1) })
  .refine(({ x, w }) => x + w <= 24, 'sticks out of the grid');

const step = z.strictObject({ color: text, value: z.number().nullable() });
const mapping = z.strictObject({
  type: z.literal('value'),
  options: z.record(z.string(), z.strictObject({ text, color: text, index: count })),
});

const defaults = z.strictObject({
  unit: z.enum(['none', 'short', 'reqps', 'cps', 's', 'bytes', 'percentunit']),
  color: z.strictObject({ mode: z.enum(['palette-classic', 'thresholds', 'continuous-BlPu']) }),
  ...{ min: z.number().optional(), max: z.number().optional(), decimals: count.optional() },
  mappings: z.array(mapping).optional(),
  thresholds: z.strictObject({ mode: z.literal('absolute'), steps: z.array(step).min(1) }).optional(),
  /** How lines are drawn. */
  custom: z.looseObject({}).optional(),
});

const common = { id: count.min(1), title: text, gridPos };

const panel = z.discriminatedUnion('type', [
  z.strictObject({ ...common, type: z.literal('row'), collapsed: z.literal(false), panels: z.tuple([]) }),
  z.strictObject({
    ...{ ...common, type: z.enum(['timeseries', 'stat', 'bargauge']), description: text, datasource, targets: queries },
    fieldConfig: z.strictObject({ defaults, overrides: z.tuple([]) }),
    /** How the kind of panel looks. */
    options: z.looseObject({}),
  }),
]);

const variableBase = {
  ...{ name: z.string().regex(/^[a-z]+$/), label: text, hide: z.literal(0), regex: z.literal('') },
  ...{ skipUrlSync: z.literal(false), multi: z.boolean(), includeAll: z.boolean(), options: z.tuple([]) },
};
const all = z.strictObject({ text: z.tuple([z.literal('All')]), value: z.tuple([z.literal('$__all')]) });

const variable = z.discriminatedUnion('type', [
  z.strictObject({
    ...{ ...variableBase, type: z.literal('datasource'), query: z.literal('prometheus'), refresh: z.literal(1) },
  }),
  z.strictObject({
    ...{ ...variableBase, type: z.literal('query'), datasource, refresh: z.literal(2), sort: z.literal(1) },
    query: z.strictObject({ query: text, refId: z.literal('PrometheusVariableQueryEditor-VariableQuery') }),
    ...{ allValue: z.literal('.+').optional(), current: all.optional() },
  }),
]);

export const dashboardSchema = z.strictObject({
  ...{ title: text, uid: z.string().regex(/^[\w-]{1,40}$/), description: text, tags: z.array(text) },
  ...{ schemaVersion: z.literal(39), version: count, editable: z.boolean() },
  /** 1: all panels mark the time under the pointer. */
  graphTooltip: z.literal(1),
  ...{ timezone: z.literal('browser'), refresh: text, fiscalYearStartMonth: count.max(11) },
  time: z.strictObject({ from: text, to: text }),
  ...{ timepicker: z.strictObject({}), links: z.tuple([]) },
  annotations: z.strictObject({ list: z.tuple([]) }),
  templating: z.strictObject({ list: z.array(variable) }),
  panels: z.array(panel).min(1),
});

export type Dashboard = z.infer<typeof dashboardSchema>;
