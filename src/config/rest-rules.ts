/** Checks a rule of `rest.rules`, so that the classifier can use it. */
import { z } from 'zod';
import { toChoice } from './schema-keys.ts';
import { type Parsed, parseContextPath } from './upstream-url.ts';

// The same patterns as in measure/classify/rule-compiler.ts, which this folder must not import: a rule that passes here
// has to pass there.
const CAPTURE = /^\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const METHOD = /^[A-Z][A-Z0-9_-]*$/;
const TEXT_SEGMENT = /^(?!\.{1,2}$)[^\s{}?;#]+$/;
const KINDS = ['rpc', 'sba', 'object', 'session', 'none'] as const;

const METHOD_FORM = 'an upper-case method such as GET or POST';
const PATH_FORM =
  'a path below rest.prefix such as d2/rpc/{event}/{method}, where each segment is a text or one {capture}';
const NAME_FORM = 'a name with captures of the path such as {event}.{method}';

export const restRuleSchema = z
  .strictObject(
    {
      methods: z
        .array(z.string({ error: METHOD_FORM }).regex(METHOD, { error: METHOD_FORM }), {
          error: 'a list of methods',
        })
        .min(1, { error: 'at least one method' })
        .describe('Upper-case methods that the rule takes; GET takes HEAD as well.'),
      path: z
        .string({ error: PATH_FORM })
        .refine(isPathTemplate, { error: PATH_FORM })
        .transform(trimSlashes)
        .describe(
          'Path below rest.prefix, with captures: d2/rpc/{event}/{method}. A capture takes exactly one segment.',
        ),
      kind: z
        .enum(KINDS, { error: toChoice(KINDS) })
        .describe('What a match is; none passes it uncounted, to take something out of a later rule.'),
      name: z
        .string({ error: NAME_FORM })
        .prefault('')
        .describe(
          'Name of the call, with captures: {event}.{method}. For kind session: login or logout. Absent for none.',
        ),
    },
    { error: 'a rule with methods, path, kind and name' },
  )
  .superRefine((rule, context) => {
    const expected = expectedName(rule);
    if (expected !== undefined) {
      context.issues.push({ code: 'custom', path: ['name'], message: expected, input: rule.name });
    }
  });

/** The name that the rule should have had; undefined if it is right. */
function expectedName(rule: { kind: (typeof KINDS)[number]; path: string; name: string }): string | undefined {
  if (rule.kind === 'none') return rule.name === '' ? undefined : 'no name, since kind none is not counted';
  if (rule.kind === 'session')
    return /^log(in|out)$/.test(rule.name) ? undefined : 'login or logout, since kind is session';
  if (rule.name === '') return NAME_FORM;
  const captures = new Set(toCaptures(rule.path));
  const unknown = [...rule.name.matchAll(/\{([^}]*)\}/g)]
    .map((match) => match[1] ?? '')
    .filter((name) => !captures.has(name));
  return unknown.length === 0 ? undefined : `only captures that are in the path ${rule.path}`;
}

function isPathTemplate(path: string): boolean {
  const segments = trimSlashes(path).split('/');
  const captures = toCaptures(path);
  if (new Set(captures).size !== captures.length) return false;
  return segments.every((segment) => CAPTURE.test(segment) || TEXT_SEGMENT.test(segment));
}

function toCaptures(path: string): readonly string[] {
  return trimSlashes(path)
    .split('/')
    .map((segment) => CAPTURE.exec(segment)?.[1])
    .filter((name) => name !== undefined);
}

export const DENIED_PATH_FORM = 'a path such as /manager, and not /';

/** A path that only clients on loopback may request, e.g. `/manager`. Percent-escapes mean the same as in a request. */
export function parseDeniedPath(text: string): Parsed<string> {
  const path = parseContextPath(text);
  const isUsable = path.kind === 'ok' && path.value !== '' && !path.value.includes(';');
  return isUsable ? { kind: 'ok', value: `/${path.value}` } : { kind: 'bad', expected: DENIED_PATH_FORM };
}

export function trimSlashes(path: string): string {
  return path.replace(/^\/+|\/+$/g, '');
}
