/**
 * The permitted content of a dashboard: those fields of Grafana's classic dashboard model (schemaVersion 39, as Grafana 10.4 and later
 * read it) that ours uses, and no others. Grafana publishes this model as TypeScript types only (`@grafana/schema`: `Dashboard`,
 * and `Options` and `FieldConfig` of each kind of panel); there is no JSON schema of it to check against.
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

const legend = z.strictObject({
  ...{ displayMode: z.enum(['list', 'table', 'hidden']), placement: z.enum(['bottom', 'right']) },
  ...{ showLegend: z.boolean(), calcs: z.array(text) },
});

const reduceOptions = z.strictObject({
  ...{ calcs: z.tuple([z.literal('lastNotNull')]), fields: z.literal(''), values: z.literal(false) },
});

const step = z.strictObject({ color: text, value: z.number().nullable() });
const mapping = z.strictObject({
  type: z.literal('value'),
  options: z.record(z.string(), z.strictObject({ text, color: text, index: count })),
});

const unit = z.enum(['none', 'short', 'reqps', 'cps', 's', 'bytes', 'percentunit']);

const drawing = z.strictObject({
  drawStyle: z.literal('line'),
  lineWidth: count.max(10),
  fillOpacity: count.max(100),
  showPoints: z.enum(['auto', 'never', 'always']),
  spanNulls: z.boolean(),
  stacking: z.strictObject({ mode: z.enum(['none', 'normal', 'percent']), group: text }),
});

function fieldConfig<Custom extends z.ZodRawShape>(custom: Custom) {
  return z.strictObject({
    defaults: z.strictObject({
      ...custom,
      unit,
      color: z.strictObject({ mode: z.enum(['palette-classic', 'thresholds', 'continuous-BlPu']) }),
      ...{ min: z.number().optional(), max: z.number().optional(), decimals: count.optional() },
      mappings: z.array(mapping).optional(),
      thresholds: z.strictObject({ mode: z.literal('absolute'), steps: z.array(step).min(1) }).optional(),
    }),
    overrides: z.tuple([]),
  });
}

const common = { id: count.min(1), title: text, gridPos };
const shown = { ...common, description: text, datasource, targets: queries };

const panel = z.discriminatedUnion('type', [
  z.strictObject({ ...common, type: z.literal('row'), collapsed: z.literal(false), panels: z.tuple([]) }),
  z.strictObject({
    ...shown,
    type: z.literal('timeseries'),
    fieldConfig: fieldConfig({ custom: drawing }),
    options: z.strictObject({
      legend,
      tooltip: z.strictObject({ mode: z.enum(['single', 'multi', 'none']), sort: z.enum(['asc', 'desc', 'none']) }),
    }),
  }),
  z.strictObject({
    ...shown,
    type: z.literal('stat'),
    fieldConfig: fieldConfig({}),
    options: z.strictObject({
      ...{ colorMode: z.literal('value'), graphMode: z.literal('none'), justifyMode: z.literal('auto') },
      ...{ orientation: z.literal('auto'), textMode: z.literal('value'), wideLayout: z.boolean(), reduceOptions },
      ...{ showPercentChange: z.boolean(), percentChangeColorMode: z.literal('standard') },
    }),
  }),
  z.strictObject({
    ...shown,
    type: z.literal('bargauge'),
    fieldConfig: fieldConfig({}),
    options: z.strictObject({
      ...{ displayMode: z.literal('gradient'), orientation: z.literal('horizontal'), valueMode: z.literal('text') },
      ...{ namePlacement: z.literal('auto'), sizing: z.literal('auto'), showUnfilled: z.boolean() },
      ...{ minVizWidth: count, minVizHeight: count, maxVizHeight: count, legend, reduceOptions },
    }),
  }),
]);

const variableBase = { name: z.string().regex(/^[a-z]+$/), label: text, hide: z.literal(0), regex: z.literal('') };
const multiple = z.union([
  z.strictObject({ text: z.tuple([z.literal('All')]), value: z.tuple([z.literal('$__all')]) }),
  z.undefined(),
]);

const variable = z.discriminatedUnion('type', [
  z.strictObject({
    ...{ ...variableBase, type: z.literal('datasource'), query: z.literal('prometheus'), refresh: z.literal(1) },
    ...{ skipUrlSync: z.literal(false), multi: z.literal(false), includeAll: z.literal(false), options: z.tuple([]) },
  }),
  z.strictObject({
    ...{ ...variableBase, type: z.literal('query'), datasource, refresh: z.literal(2), sort: z.literal(1) },
    query: z.strictObject({ query: text, refId: z.literal('PrometheusVariableQueryEditor-VariableQuery') }),
    ...{ skipUrlSync: z.literal(false), multi: z.boolean(), includeAll: z.boolean(), options: z.tuple([]) },
    ...{ allValue: z.literal('.+').optional(), current: multiple.optional() },
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
