/**
 * Building blocks of the schema: each builds one kind of key. The message of every check is the phrase after
 * "expected", so that explain.ts can report key, value and expectation in one form for all keys. Descriptions are
 * Markdown.
 */
import { z } from 'zod';
import { DURATION_PATTERN, encodeDuration, MAX_DURATION_MS, parseDurationMs } from './duration.ts';
import { HOST_EXAMPLES, isHost, MAX_PORT } from './host-port.ts';
import { type Parsed, parsePlainUrl, trimSlashes } from './upstream-url.ts';

// The configuration is checked once: compiling validators with `new Function` costs more than it gains, and locked-down
// processes (--disallow-code-generation-from-strings) refuse it.
z.config({ jitless: true });

declare module 'zod' {
  interface GlobalMeta {
    /** Whether a reload applies the key. Absent: as for the section around it; at the top level, `live`. */
    reload?: 'live' | 'restart' | undefined;
    /**
     * What messages hide because it may be a secret. `value`: the value of the key. `names`: also unknown keys in it.
     * `all`: also everything below it. `always`: the effective configuration hides it, too.
     */
    hide?: 'value' | 'names' | 'all' | 'always' | undefined;
  }
}

export interface Conflict {
  /** Not reported if one of these is invalid itself. A section stands for all its keys. */
  readonly keys: readonly string[];
  readonly line: string;
}

/** Makes conflicts of keys below `section`. Lines and names are without it, e.g. `timeout: longer than ...`, `timeout`. */
export function conflictsBelow(section: string) {
  const conflict = (line: string, ...names: readonly string[]): Conflict => {
    return { keys: names.map((name) => `${section}.${name}`), line: `${section}.${line}` };
  };
  const missing = (name: string, given: string) =>
    conflict(`${name}: missing, required with ${section}.${given}`, name, given);
  return { conflict, missing };
}

/** The parsed value of a key with a time. The key's name gets the unit: `idle` is `idleMs` in the program. */
const milliseconds = z.number().brand<'ms'>();
type Milliseconds = z.output<typeof milliseconds>;

type WithUnits<T> = {
  [K in keyof T as T[K] extends Milliseconds ? `${K & string}Ms` : K]: T[K] extends Milliseconds ? number : T[K];
};

/** The output of a schema, deeply frozen. */
export type Frozen<T> = T extends readonly (infer I)[]
  ? readonly Frozen<I>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** An object such as a rule. `form`: the phrase after "expected" in messages. */
export function group<T extends z.ZodRawShape>(form: string, shape: T) {
  return z.strictObject(shape, { error: form });
}

interface ListOptions extends z.core.GlobalMeta {
  /** As in `group`. */
  readonly form: string;
  readonly max?: number;
}

/** A list, which may be absent. */
export function list<T extends z.ZodType>(item: T, { form, max, ...meta }: ListOptions) {
  const items = z.array(item, { error: form });
  return (max === undefined ? items : items.max(max, { error: form })).prefault([]).meta(meta);
}

/** A list of at most 100 items that each have a `callName` of their own. */
export function listByName<T extends z.ZodType<{ readonly name: string }>>(item: T, { form, ...meta }: ListOptions) {
  const hasEachOnce = (items: readonly z.output<T>[]) => new Set(items.map(({ name }) => name)).size === items.length;
  const items = z.array(item, { error: form }).max(100, { error: form });
  return items.refine(hasEachOnce, { error: form }).prefault([]).meta(meta);
}

/** A name of one or more calls. */
export function callName() {
  const form = 'a name such as E.Boiler.Start, or E.Boiler.* for all names that begin so';
  return text(form, /^(?=.)[^*]*\*?$/s).describe('A name of an RPC or SBA RPC; `*` at its end stands for any rest.');
}

/** A group of keys. The group may be absent: each of its keys has a default or may be absent. */
export function section<T extends z.ZodRawShape>(reload: 'live' | 'restart', description: string, shape: T) {
  return group('a group of keys', shape)
    .transform((values) => {
      const entries = Object.entries(values).map(([name, value]) => [chooseProgramName(name, shape[name]), value]);
      return Object.fromEntries(entries) as WithUnits<typeof values>;
    })
    .prefault({} as never)
    .meta({ description, reload });
}

/** The name of a key in the program: `idle` with a time is `idleMs`. */
export function chooseProgramName(name: string, schema: z.core.$ZodType | undefined): string {
  const inner = schema instanceof z.ZodPrefault ? schema.unwrap() : schema;
  return inner instanceof z.ZodCodec && inner.out === milliseconds ? `${name}Ms` : name;
}

/** A time; parsed to milliseconds. `zero` describes the meaning of 0 where 0 is allowed. */
export function duration(
  byDefault: string | number,
  description: string,
  limits: { minMs?: number; maxMs?: number; zero?: string } = {},
) {
  const { minMs = 1, maxMs = MAX_DURATION_MS } = limits;
  const zero = limits.zero === undefined ? '' : `0 (${limits.zero}) or `;
  const examples = ['500ms', '30s', '5m', '1h', '90d'].filter((example) => {
    const ms = parseDurationMs(example) ?? 0;
    return ms >= minMs && ms <= maxMs;
  });
  const range = `${encodeDuration(minMs)} to ${encodeDuration(maxMs)}`;
  const error = `${zero}a time from ${range}, such as ${examples.join(', ')} or a number of seconds`;
  const written = [z.number({ error }).nonnegative({ error }), z.string({ error }).regex(DURATION_PATTERN, { error })];
  return z
    .codec(z.union(written, { error }), milliseconds, {
      decode: (text, context) => {
        const ms = parseDurationMs(text);
        if (ms !== undefined && ms <= maxMs && (ms >= minMs || (ms === 0 && zero !== ''))) return ms;
        context.issues.push({ code: 'custom', message: error, input: text });
        return z.NEVER;
      },
      encode: encodeDuration,
    })
    .prefault(byDefault)
    .describe(description);
}

export function host(byDefault: string, description: string) {
  return checkedText('an address or host name such as 127.0.0.1, 0.0.0.0, :: or localhost', isHost)
    .prefault(byDefault)
    .describe(description);
}

/** The name in another server's certificate. */
export function serverName(example: string, url: string) {
  const description = `Name expected in its certificate, if not the host of ${url}.`;
  return optional(checkedText(`a host name such as ${example}`, isHost), example, description);
}

export function port(byDefault: number, description: string) {
  const range = { min: 0, max: MAX_PORT };
  return intWithin(range, `a port from 0 (any free one) to ${MAX_PORT}`).prefault(byDefault).describe(description);
}

interface Range {
  readonly min: number;
  readonly max: number;
}

export function wholeNumber(range: Range, byDefault: number, description: string) {
  return intWithin(range).prefault(byDefault).describe(description);
}

export function intWithin({ min, max }: Range, error = `a whole number from ${min} to ${max}`) {
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** A ratio: a number from 0 to 1. */
export function share(byDefault: number, description: string) {
  const error = 'a number from 0 to 1';
  return z.number({ error }).min(0, { error }).max(1, { error }).prefault(byDefault).describe(description);
}

export function oneOf<const T extends readonly [string, ...string[]]>(
  values: T,
  byDefault: T[number],
  description: string,
) {
  return z
    .enum(values, { error: describeChoice(values) })
    .prefault(byDefault as never)
    .describe(description);
}

export function describeChoice(values: readonly string[]): string {
  return values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;
}

export function yesOrNo(byDefault: boolean, description: string) {
  return z.boolean({ error: 'true or false' }).prefault(byDefault).describe(description);
}

/** Every text but the empty one. */
export const NOT_EMPTY = /[\s\S]/;

/** `form`: as in `group`. */
export function text(form: string, pattern: RegExp) {
  return z.string({ error: form }).regex(pattern, { error: form });
}

/** `form`: as in `group`. */
export function checkedText(form: string, isUsable: (written: string) => boolean) {
  return z.string({ error: form }).refine(isUsable, { error: form });
}

/** A key that may be absent. `config/sidecar.yaml` shows the `example`. */
export function optional<T extends z.ZodType>(key: T, example: unknown, description: string) {
  return key.optional().meta({ description, examples: [example] });
}

export function optionalText(form: string, pattern: RegExp, example: string, description: string) {
  return optional(text(form, pattern), example, description);
}

/** Messages do not show its value. */
export function hiddenText(form: string, pattern: RegExp, example: string, description: string) {
  return optionalText(form, pattern, example, description).meta({ hide: 'value' });
}

/** A path of one or more segments, in any form of outer slashes. */
export function pathBelow(byDefault: string, description: string) {
  return text(`a path such as ${byDefault}`, /^[^\s?#\\{}]*[^\s?#\\{}/][^\s?#\\{}]*$/)
    .overwrite(trimSlashes)
    .prefault(byDefault)
    .describe(description);
}

/** The path of a file with a certificate or key. Refuses the content of such a file, and never shows it. */
export function pemFile(example: string, description: string) {
  return hiddenText('the path of a file', /^(?!.*-----BEGIN)[^\n]+$/, example, description);
}

/** The authorities that verify another server's certificate. */
export function authoritiesFile(example: string) {
  return pemFile(example, 'PEM file of its authorities. Absent: those of Node.js.');
}

export function parsedText<T>(parse: (text: string) => Parsed<T>, expected: string) {
  return z.string({ error: expected }).transform((text, context) => {
    const result = parse(text);
    if (result.kind === 'ok') return result.value;
    context.issues.push({ code: 'custom', message: result.expected, input: text });
    return z.NEVER;
  });
}

/**
 * The address of another server, such as `http://127.0.0.1:4318`. Messages never repeat it: it may contain a password.
 */
export function httpUrl() {
  return parsedText((text) => parsePlainUrl(text, HTTP_URL, HTTP_URL_FORM), HTTP_URL_FORM);
}

const HTTP_URL_FORM = `http://host[:port][/path] or https://…, without user, query or fragment, with a host such as ${HOST_EXAMPLES}`;
const HTTP_URL = /^https?:\/\/[^/\\@?#\s]+(?:\/[^\\@?#\s]*)?$/i;
