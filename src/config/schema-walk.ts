/** Reads the schema as data: its keys, and their environment variables. */
import { z } from 'zod';
import { configSchema } from './schema.ts';
import { type KeyForm, keyForms } from './schema-keys.ts';

export type KeyPath = readonly (string | number)[];

export interface Key {
  /** `['monitor', 'readyWithUpstream']` */
  readonly path: readonly string[];
  /** `D2_SIDECAR_MONITOR_READY_WITH_UPSTREAM` */
  readonly variable: string;
  readonly form: KeyForm;
}

export const VARIABLE_PREFIX = 'D2_SIDECAR_';

/** All keys in the schema's order. `metrics.maxNames` is listed as a whole and with its three parts. */
export function listKeys(schema: z.core.$ZodType = configSchema, path: readonly string[] = []): readonly Key[] {
  const form = keyForms.get(schema as z.ZodType)?.form;
  const own: Key[] = form === undefined ? [] : [{ path, variable: toVariable(path), form }];
  if (unwrap(schema) instanceof z.ZodArray) return own;
  const shape = toShape(schema) ?? {};
  return own.concat(Object.entries(shape).flatMap(([name, inner]) => listKeys(inner, [...path, name])));
}

/** `['upstream', 'connectTimeout']` to `D2_SIDECAR_UPSTREAM_CONNECT_TIMEOUT`. */
export function toVariable(path: readonly string[]): string {
  return VARIABLE_PREFIX + path.map((name) => name.replace(/[A-Z]/g, '_$&').toUpperCase()).join('_');
}

/** Names of the keys allowed at `path`, also inside lists; empty if none are. */
export function knownNamesAt(path: KeyPath): readonly string[] {
  let schema: z.core.$ZodType | undefined = configSchema;
  for (const step of path) {
    const inner: z.core.$ZodType | undefined = schema === undefined ? undefined : unwrap(schema);
    if (typeof step === 'number') schema = inner instanceof z.ZodArray ? inner.element : undefined;
    else schema = inner === undefined ? undefined : toShape(inner)?.[step];
  }
  return schema === undefined ? [] : Object.keys(toShape(schema) ?? {});
}

function toShape(schema: z.core.$ZodType): Readonly<Record<string, z.core.$ZodType>> | undefined {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

function unwrap(schema: z.core.$ZodType): z.core.$ZodType {
  if (schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) return unwrap(schema.unwrap());
  if (schema instanceof z.ZodPipe) return unwrap(schema.in);
  if (schema instanceof z.ZodUnion) {
    const group = schema.options.find((option) => unwrap(option) instanceof z.ZodObject);
    return group === undefined ? schema : unwrap(group);
  }
  return schema;
}
