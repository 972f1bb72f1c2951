/** Faults of a manifest: an unknown key in each of its objects, a value of another type, a missing key. */
import type { Json, Manifest } from './manifests.ts';

/** The key that no schema knows. */
export const UNKNOWN = 'd2sUnknown';

export interface Mutation {
  /** Its source says where it was changed. */
  readonly manifest: Manifest;
}

/** One for each object that is not free, the whole manifest included. */
export function withUnknownKeys(manifest: Manifest): readonly Mutation[] {
  return walk(manifest.content, '')
    .filter(({ value, where }) => isObject(value) && !isFree(manifest.kind, where))
    .map(({ where }) => ({ manifest: change(manifest, where, (old) => ({ ...Object(old), [UNKNOWN]: 'x' })) }));
}

/** One for each string, number and boolean below the kind. A schema cannot distinguish two strings, so all become objects. */
export function withWrongTypes(manifest: Manifest): readonly Mutation[] {
  return walk(manifest.content, '')
    .filter(({ value, where }) => !isObject(value) && !Array.isArray(value) && !/^(?:apiVersion|kind)$/.test(where))
    .map(({ where }) => ({ manifest: change(manifest, where, () => ({ wrong: true })) }));
}

export function withoutKey(manifest: Manifest, where: string): Manifest {
  return change(manifest, where, () => undefined);
}

/** Objects whose keys are the user's. */
function isFree(kind: string, where: string): boolean {
  if (kind === 'Service' && where === 'spec.selector') return true;
  if (/^(?:ConfigMap|Secret)$/.test(kind) && /^(?:data|stringData)$/.test(where)) return true;
  return /(?:^|\.)(?:labels|annotations|matchLabels|nodeSelector|limits|requests)$/.test(where);
}

function walk(value: Json, where: string): readonly { readonly value: Json; readonly where: string }[] {
  if (typeof value !== 'object' || value === null) return [{ value, where }];
  const inner = Object.entries(value).flatMap(([key, child]) => walk(child, where === '' ? key : `${where}.${key}`));
  return [{ value, where }, ...inner];
}

function change(manifest: Manifest, where: string, to: (old: Json) => Json | undefined): Manifest {
  const source = `${manifest.source} (changed at ${where})`;
  return { ...manifest, source, content: replaced(manifest.content, segments(manifest.content, where), to) as Json };
}

/** Keys may contain dots, like those of labels: the longest match counts. */
function segments(value: Json, where: string): readonly string[] {
  if (where === '') return [];
  const key = Object.keys(Object(value))
    .filter((name) => where === name || where.startsWith(`${name}.`))
    .sort((one, other) => other.length - one.length)[0];
  if (key === undefined) throw new Error(`nothing at ${where}`);
  return [key, ...segments((value as Record<string, Json>)[key] as Json, where.slice(key.length + 1))];
}

function replaced(
  value: Json,
  [key, ...rest]: readonly string[],
  to: (old: Json) => Json | undefined,
): Json | undefined {
  if (key === undefined) return to(value);
  const copy = Array.isArray(value) ? [...(value as readonly Json[])] : { ...(value as object) };
  const slots = copy as Record<string, Json | undefined>;
  slots[key] = replaced(slots[key] as Json, rest, to);
  if (slots[key] === undefined) delete slots[key];
  return copy as Json;
}

function isObject(value: Json): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
