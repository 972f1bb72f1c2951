/** Reads the schema as data: its keys and their metadata. */
import { z } from 'zod';
import { configSchema } from './schema.ts';
import { chooseProgramName } from './schema-keys.ts';

export type KeyPath = readonly (string | number)[];

/** How an environment variable is converted to the key's value. `yaml`: its text is YAML, for lists of objects. */
export type KeyForm = 'text' | 'number' | 'boolean' | 'texts' | 'yaml';

export interface Key {
  /** In the file: `['stop', 'delay']` */
  readonly path: readonly string[];
  /** In `Config`: `['stop', 'delayMs']` */
  readonly place: readonly string[];
  /** `D2_SIDECAR_STOP_DELAY` */
  readonly variable: string;
  readonly form: KeyForm;
  readonly reload: 'live' | 'restart';
}

export const VARIABLE_PREFIX = 'D2_SIDECAR_';

/** All keys in the schema's order. `metrics.maxNames` is listed as a whole and with its three parts. */
export function listKeys(): readonly Key[] {
  return listBelow(configSchema, [], [], 'live');
}

function listBelow(
  schema: z.core.$ZodType,
  path: readonly string[],
  place: readonly string[],
  outer: Key['reload'],
): readonly Key[] {
  const reload = metaOf(schema).reload ?? outer;
  const inner = unwrap(schema);
  const own =
    inner instanceof z.ZodObject
      ? []
      : [{ path, place, reload, variable: encodeVariable(path), form: chooseForm(inner) }];
  const parts = Object.entries(findShape(schema) ?? {}).flatMap(([name, part]) =>
    listBelow(part, [...path, name], [...place, chooseProgramName(name, part)], reload),
  );
  return [...own, ...parts];
}

/** `['upstream', 'connectTimeout']` to `D2_SIDECAR_UPSTREAM_CONNECT_TIMEOUT`. */
export function encodeVariable(path: readonly string[]): string {
  return VARIABLE_PREFIX + path.map((name) => name.replace(/[A-Z]/g, '_$&').toUpperCase()).join('_');
}

function chooseForm(schema: z.core.$ZodType): KeyForm {
  if (schema instanceof z.ZodNumber) return 'number';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  if (schema instanceof z.ZodArray) return isText(unwrap(schema.element)) ? 'texts' : 'yaml';
  if (schema instanceof z.ZodUnion) return schema.options.some(isText) ? 'text' : 'yaml';
  return 'text';
}

function isText(schema: z.core.$ZodType): boolean {
  return schema instanceof z.ZodString || schema instanceof z.ZodEnum;
}

/** Also inside lists; undefined where there is no such key. */
export function schemaAt(path: readonly PropertyKey[]): z.core.$ZodType | undefined {
  return path.reduce<z.core.$ZodType | undefined>((schema, step) => schema && partOf(schema, step), configSchema);
}

/** The schema of a key of a group, or of an item of a list. */
export function partOf(schema: z.core.$ZodType, step: PropertyKey): z.core.$ZodType | undefined {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodArray) return typeof step === 'number' ? inner.element : undefined;
  const shape = findShape(inner);
  // A name such as `constructor` is not a key, although every object has it.
  return shape !== undefined && Object.hasOwn(shape, step) ? shape[String(step)] : undefined;
}

/** The words that the key at `path` takes, e.g. `['append', 'replace', 'off']`; empty for any other key. */
export function choicesAt(path: KeyPath): readonly string[] {
  const schema = schemaAt(path);
  const inner = schema && unwrap(schema);
  const parts = inner instanceof z.ZodUnion ? inner.options : [inner];
  return parts.flatMap((part) => (part instanceof z.ZodEnum ? part.options.map(String) : []));
}

/** Names of the keys allowed at `path`, also inside lists; empty if none are. */
export function knownNamesAt(path: KeyPath): readonly string[] {
  const schema = schemaAt(path);
  return schema === undefined ? [] : Object.keys(findShape(schema) ?? {});
}

/** The keys of a group, also if a single value may replace the group. */
export function findShape(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> | undefined {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodUnion) return inner.options.map(findShape).find((shape) => shape !== undefined);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

/** The metadata of a schema, including that of the schema inside its default. */
export function metaOf(schema: z.core.$ZodType): z.core.GlobalMeta {
  const own = z.globalRegistry.get(schema) ?? {};
  const inner = unwrapOnce(schema);
  return inner === undefined ? own : { ...metaOf(inner), ...own };
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  const inner = unwrapOnce(schema);
  return inner === undefined ? schema : unwrap(inner);
}

function unwrapOnce(schema: z.core.$ZodType): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return schema.unwrap();
  return schema instanceof z.ZodPipe ? schema.in : undefined;
}
