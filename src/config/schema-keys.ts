/**
 * Building blocks of the schema: each builds one kind of key. The message of every check is the phrase after
 * "expected", so that explain.ts can report key, value and expectation in one form for all keys. Descriptions are
 * Markdown.
 */
import { z } from 'zod';
import { DURATION_PATTERN, encodeDuration, MAX_DURATION_MS, parseDurationMs } from './duration.ts';
import { HOST_EXAMPLES, hasHost, isHost } from './host.ts';
import { MAX_PORT } from './host-port.ts';
import { type Parsed, trimSlashes } from './upstream-url.ts';

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

/** A contradiction between several keys. */
export interface Conflict {
  /** Not reported if one of these is invalid itself. A section stands for all its keys. */
  readonly keys: readonly string[];
  readonly line: string;
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

/** A group of keys. The group may be absent: each of its keys has a default or may be absent. */
export function section<T extends z.ZodRawShape>(reload: 'live' | 'restart', description: string, shape: T) {
  return z
    .strictObject(shape, { error: 'a group of keys' })
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
  const error = `${zero}a time from ${encodeDuration(minMs)} to ${encodeDuration(maxMs)}, such as 500ms, 30s, 5m, 1h or a number of seconds`;
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
  return hostText('an address or host name such as 127.0.0.1, 0.0.0.0, :: or localhost')
    .prefault(byDefault)
    .describe(description);
}

/** `form`: the phrase after "expected" in messages. */
export function hostText(form: string) {
  return z.string({ error: form }).refine(isHost, { error: form });
}

/** The name in another server's certificate. */
export function serverName(example: string, url: string) {
  return hostText(`a host name such as ${example}`)
    .optional()
    .meta({ description: `Name expected in its certificate, if not the host of ${url}.`, examples: [example] });
}

export function port(byDefault: number, description: string) {
  const form = `a port from 0 (any free one) to ${MAX_PORT}`;
  return intWithin({ min: 0, max: MAX_PORT }, form).prefault(byDefault).describe(description);
}

interface Range {
  readonly min: number;
  readonly max: number;
}

export function wholeNumber(range: Range, byDefault: number, description: string) {
  const form = `a whole number from ${range.min} to ${range.max}`;
  return intWithin(range, form).prefault(byDefault).describe(description);
}

export function intWithin({ min, max }: Range, error: string) {
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

/** `form`: the phrase after "expected" in messages. */
export function text(form: string, pattern: RegExp) {
  return z.string({ error: form }).regex(pattern, { error: form });
}

/** A text that may be absent. `config/sidecar.yaml` shows the `example`. */
export function optionalText(form: string, pattern: RegExp, example: string, description: string) {
  return text(form, pattern)
    .optional()
    .meta({ description, examples: [example] });
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
  return optionalText('the path of a file', /^(?!.*-----BEGIN)[^\n]+$/, example, description).meta({ hide: 'value' });
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
  return parsedText(parseHttpUrl, HTTP_URL_FORM);
}

const HTTP_URL_FORM = `http://host[:port][/path] or https://…, without user, query or fragment, with a host such as ${HOST_EXAMPLES}`;

function parseHttpUrl(text: string): Parsed<string> {
  const isPlain = /^https?:\/\/[^/\\@?#\s]+(?:\/[^\\@?#\s]*)?$/i.test(text) && URL.canParse(text);
  const isUsable = isPlain && hasHost(text, new URL(text));
  return isUsable ? { kind: 'ok', value: new URL(text).href } : { kind: 'bad', expected: HTTP_URL_FORM };
}
