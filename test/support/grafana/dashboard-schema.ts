/**
 * What Grafana's classic dashboard model (schemaVersion 39, as Grafana 10.4 and later read it) requires of our dashboard. Grafana
 * publishes it as TypeScript types only (`@grafana/schema`), so there is no JSON schema to check against. Looks are free.
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

const unit = z.enum(['none', 'short', 'reqps', 'cps', 's', 'bytes', 'percentunit']);
const defaults = z.looseObject({ unit, color: z.looseObject({ mode: text }) });
const common = { id: count.min(1), title: text, gridPos };

const panel = z.discriminatedUnion('type', [
  z.strictObject({ ...common, type: z.literal('row'), collapsed: z.literal(false), panels: z.tuple([]) }),
  z.strictObject({
    ...{
      ...common,
      type: z.enum(['timeseries', 'stat', 'bargauge', 'state-timeline']),
      description: text,
      datasource,
      targets: queries,
    },
    ...{ fieldConfig: z.strictObject({ defaults, overrides: z.tuple([]) }), options: z.looseObject({}) },
  }),
]);

const named = { name: z.string().regex(/^[a-z]+$/), label: text };
const variable = z.discriminatedUnion('type', [
  z.looseObject({ ...named, type: z.literal('datasource'), query: z.literal('prometheus') }),
  z.looseObject({ ...named, type: z.literal('custom'), query: z.string().regex(/^\w+ : \w+(?:, \w+ : \w+)*$/) }),
  z.looseObject({
    ...named,
    type: z.literal('query'),
    datasource,
    query: z.strictObject({ query: text, refId: text }),
  }),
]);

export const dashboardSchema = z.looseObject({
  ...{ title: text, uid: z.string().regex(/^[\w-]{1,40}$/), description: text, tags: z.array(text) },
  ...{ schemaVersion: z.literal(39), time: z.strictObject({ from: text, to: text }) },
  templating: z.strictObject({ list: z.array(variable) }),
  panels: z.array(panel).min(1),
});

export type Dashboard = z.infer<typeof dashboardSchema>;
