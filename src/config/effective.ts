/** The effective configuration in the form of a file, for people to read, without secrets. */
import type { z } from 'zod';
import type { Config } from './config.ts';
import { encodeDuration } from './duration.ts';
import { configSchema } from './schema.ts';
import { chooseProgramName } from './schema-keys.ts';
import { findShape, metaOf, partOf } from './schema-walk.ts';
import { isGroup } from './written.ts';

/** YAML with all keys; the keys of users are shown as `[hidden]`. */
export async function formatYaml(config: Config): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(describeEffective(config), { lineWidth: 0 });
}

export function describeEffective(config: Config): object {
  const upstream = { ...config.upstream, url: config.upstream.baseUrl };
  const applications = config.applications.map((path) => (path === '' ? '/' : path));
  const forwarded = { addresses: config.forwarded, clientCertificate: config.clientCertificate };
  return formatPart(configSchema, { ...config, upstream, applications, forwarded }) as object;
}

/** `value` in the form that a file has for this part of the schema; undefined if a file omits it. */
function formatPart(schema: z.core.$ZodType | undefined, value: unknown): unknown {
  if (schema === undefined || value === undefined) return value;
  if (metaOf(schema).hide === 'always') return '[hidden]';
  if (Array.isArray(value)) return value.map((item, index) => formatPart(partOf(schema, index), item));
  const shape = findShape(schema);
  if (shape === undefined || !isGroup(value)) return value;
  const entries = Object.entries(shape).map(([name, part]) => {
    const place = chooseProgramName(name, part);
    return [name, place === name ? formatPart(part, value[name]) : encodeDuration(value[place] as number)];
  });
  const written = entries.filter(([, inner]) => inner !== undefined);
  return written.length === 0 ? undefined : Object.fromEntries(written);
}
