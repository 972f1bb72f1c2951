/** Turns issues of the schema into sentences: key, value, expectation, origin. They never contain a secret. */
import type { z } from 'zod';
import { nearest } from './nearest.ts';
import { knownNamesAt, listKeys, metaOf, schemaAt } from './schema-walk.ts';
import { hideUrlSecrets } from './upstream-url.ts';
import { formatKey, isGroup, valueAt, type Written } from './written.ts';

export interface Mistake {
  readonly path: readonly PropertyKey[];
  /** `listen.port: got 99999, expected a port from 0 (any free one) to 65535 (--listen)` */
  readonly line: string;
}

const MAX_SHOWN_CHARACTERS = 80;

const REPLACED: ReadonlyMap<string, string> = new Map([['comet.maxMemoryBytes', 'limits.memoryBytes']]);

export function explainIssues(issues: readonly z.core.$ZodIssue[], written: Written): readonly Mistake[] {
  const problems = issues.flatMap((issue) => explainIssue(issue, [], written));
  // Two checks of one key may fail with the same sentence.
  return [...new Map(problems.map((problem) => [problem.line, problem])).values()];
}

function explainIssue(issue: z.core.$ZodIssue, outer: readonly PropertyKey[], written: Written): readonly Mistake[] {
  const path = [...outer, ...issue.path];
  const value = valueAt(written.group, path);
  if (issue.code === 'unrecognized_keys') return issue.keys.map((name) => explainUnknown([...path, name], written));
  if (issue.code === 'invalid_union' && isGroup(value)) {
    // The key accepts a single value or a group. A group was written, so only the mistakes in the group matter.
    const inner = issue.errors.find((errors) =>
      errors.every(({ path: at, code }) => at.length > 0 || (code !== 'invalid_type' && code !== 'invalid_value')),
    );
    if (inner !== undefined) return inner.flatMap((one) => explainIssue(one, path, written));
  }
  const found = value === undefined ? 'missing' : `got ${describeValue(path, value)}`;
  const line = `${formatKey(path)}: ${found}, expected ${issue.message}${describeOrigin(path, written)}`;
  return [{ path, line }];
}

function explainUnknown(path: readonly PropertyKey[], written: Written): Mistake {
  const outer = path.slice(0, -1);
  const name = String(path.at(-1));
  const origin = describeOrigin(path, written);
  const known = knownNamesAt(outer as readonly (string | number)[]);
  if (hidesAll(outer) || hideAt(outer) === 'names') {
    // The name of the key may be a secret, as in - abc123: alice.
    return { path, line: `${formatKey(outer)}: an unknown key, expected only ${known.join(' and ')}${origin}` };
  }
  const replacement = REPLACED.get(formatKey(path));
  if (replacement !== undefined) {
    return { path, line: `${formatKey(path)}: no longer a key, replaced by ${replacement}${origin}` };
  }
  const near = nearest(name, known);
  const elsewhere = listKeys().filter((key) => key.path.length > 1 && key.path.at(-1) === name);
  const meant = near === undefined ? elsewhere.map((key) => key.path) : [[...outer, near]];
  const hint =
    meant.length > 0 && meant.length <= 3
      ? `did you mean ${meant.map(formatKey).join(' or ')}?`
      : `expected one of ${known.join(', ')}`;
  return { path, line: `${formatKey(path)}: unknown key, ${hint}${origin}` };
}

function describeOrigin(path: readonly PropertyKey[], written: Written): string {
  const origin = written.originOf(path as readonly (string | number)[]);
  return origin === undefined ? '' : ` (${origin})`;
}

/** A value as it may be shown: short, on one line, without secrets. */
function describeValue(path: readonly PropertyKey[], value: unknown): string {
  // The value is or may be a secret; see `hide` of the schema.
  if (hidesAll(path) || hideAt(path) !== undefined) return '[hidden]';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a group of keys';
  const text = typeof value === 'string' ? hideUrlSecrets(value) : String(value);
  const shown = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}...` : text;
  return typeof value === 'string' ? JSON.stringify(shown) : shown;
}

function hidesAll(path: readonly PropertyKey[]): boolean {
  return path.some((_, index) => hideAt(path.slice(0, index + 1)) === 'all');
}

function hideAt(path: readonly PropertyKey[]) {
  const schema = schemaAt(path);
  return schema && metaOf(schema).hide;
}
