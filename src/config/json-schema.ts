/** The schema for editors: JSON Schema (https://json-schema.org/draft/2020-12) of the file as written. */
import { z } from 'zod';
import { configSchema } from './schema.ts';

/** With descriptions and defaults; the text of `config/schema.json`. */
export function toJsonSchemaText(): string {
  // `input`: what is written in the file, not what the program makes of it.
  const schema = z.toJSONSchema(configSchema, { target: 'draft-2020-12', io: 'input' });
  return `${JSON.stringify({ title: 'd2-sidecar configuration', ...schema }, withoutEmptyDefault, 2)}\n`;
}

/** Omits the default `{}` of a group, which would only make editors insert an empty group. */
function withoutEmptyDefault(name: string, value: unknown): unknown {
  const isEmpty =
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
  return name === 'default' && isEmpty ? undefined : value;
}
