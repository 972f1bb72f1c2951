/**
 * Building blocks of schema.ts: each builds one kind of key. The message of every check is the phrase after "expected",
 * so that explain.ts can report key, value and expectation in one form for all keys.
 */
import { z } from 'zod';
import { DURATION_PATTERN, MAX_DURATION_MS, toDurationMs, toDurationText } from './duration.ts';
import { MAX_PORT } from './host-port.ts';
import type { Parsed } from './upstream-url.ts';

// The configuration is checked once: compiling validators with `new Function` costs more than it gains, and locked-down
// processes (--disallow-code-generation-from-strings) refuse it.
z.config({ jitless: true });

/** How an environment variable is converted to the key's value. `yaml`: its text is YAML, for lists of objects. */
export type KeyForm = 'text' | 'number' | 'port' | 'boolean' | 'texts' | 'yaml';

export const keyForms = z.registry<{ readonly form: KeyForm }>();

export function port(byDefault: number, description: string) {
  const error = `a port from 0 (any free one) to ${MAX_PORT}`;
  return z
    .int({ error })
    .min(0, { error })
    .max(MAX_PORT, { error })
    .prefault(byDefault)
    .describe(description)
    .register(keyForms, { form: 'port' });
}

export function wholeNumber(range: { min: number; max: number }, byDefault: number, description: string) {
  const error = `a whole number from ${range.min} to ${range.max}`;
  return z
    .int({ error })
    .min(range.min, { error })
    .max(range.max, { error })
    .prefault(byDefault)
    .describe(description)
    .register(keyForms, { form: 'number' });
}

/** A time; parsed to milliseconds. `zero` describes the meaning of 0 where 0 is allowed. */
export function duration(
  byDefault: string | number,
  description: string,
  limits: { minMs?: number; zero?: string } = {},
) {
  const minMs = limits.minMs ?? 1;
  const zero = limits.zero === undefined ? '' : `0 (${limits.zero}) or `;
  const error = `${zero}a time from ${toDurationText(minMs)} to ${toDurationText(MAX_DURATION_MS)}, such as 500ms, 30s, 5m, 1h or a number of seconds`;
  return z
    .union([z.number({ error }).nonnegative({ error }), z.string({ error }).regex(DURATION_PATTERN, { error })], {
      error,
    })
    .transform((written, context) => {
      const ms = toDurationMs(written);
      if (ms !== undefined && ms <= MAX_DURATION_MS && (ms >= minMs || (ms === 0 && zero !== ''))) return ms;
      context.issues.push({ code: 'custom', message: error, input: written });
      return z.NEVER;
    })
    .prefault(byDefault)
    .describe(description)
    .register(keyForms, { form: 'text' });
}

export function oneOf<const T extends readonly [string, ...string[]]>(
  values: T,
  byDefault: T[number],
  description: string,
) {
  return z
    .enum(values, { error: toChoice(values) })
    .prefault(byDefault as never)
    .describe(description)
    .register(keyForms, { form: 'text' });
}

export function toChoice(values: readonly string[]): string {
  return values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;
}

export function yesOrNo(byDefault: boolean, description: string) {
  return z
    .boolean({ error: 'true or false' })
    .prefault(byDefault)
    .describe(description)
    .register(keyForms, { form: 'boolean' });
}

export function parsedText<T>(parse: (text: string) => Parsed<T>, expected: string) {
  return z.string({ error: expected }).transform((text, context) => {
    const result = parse(text);
    if (result.kind === 'ok') return result.value;
    context.issues.push({ code: 'custom', message: result.expected, input: text });
    return z.NEVER;
  });
}

/** A group of keys. The group may be absent: each of its keys has a default or may be absent. */
export function section<T extends z.ZodRawShape>(shape: T, description: string) {
  return z
    .strictObject(shape, { error: 'a group of keys' })
    .prefault({} as never)
    .describe(description);
}
