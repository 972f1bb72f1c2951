/** Rules of `rest.rules`: which requests are calls, and how these are named. The paths of `rest.deny`. */
import { z } from 'zod';
import { describeChoice, type Frozen, group } from '../schema-keys.ts';
import { type Parsed, parseContextPath, trimSlashes } from '../upstream-url.ts';
import { compilesBy, decodeText, orMistake, type Pattern, parseName, parsePattern, RuleMistake } from './pattern.ts';

const KINDS = ['rpc', 'sba', 'object', 'session', 'none'] as const;
const METHOD_FORM = 'an upper-case method such as GET or POST';
const PATH_FORM =
  'a path below rest.prefix such as d2/rpc/{event}/{method}, or below the application such as /odata/{set}, where each segment is a text or one {capture}';
const NAME_FORM = 'a name with captures of the path such as {event}.{method}';

const writtenRule = group('a rule with methods, path, kind and name', {
  methods: z
    .array(z.string({ error: METHOD_FORM }).regex(/^[A-Z][A-Z0-9_-]*$/, { error: METHOD_FORM }), {
      error: 'a list of methods',
    })
    .min(1, { error: 'at least one method' })
    .describe('Upper-case methods that the rule matches; GET also matches HEAD.'),
  path: z
    .string({ error: PATH_FORM })
    .refine((path) => parsePath(path) !== undefined, { error: PATH_FORM })
    .overwrite((path) => (path.startsWith('/') ? `/${trimSlashes(path)}` : trimSlashes(path)))
    .describe(
      'Path below rest.prefix, with captures: d2/rpc/{event}/{method}. With a slash in front, also below the application: /odata/{set}. A capture matches exactly one segment.',
    ),
  kind: z
    .enum(KINDS, { error: describeChoice(KINDS) })
    .describe('Kind of a match; none leaves it uncounted, to exclude it from later rules.'),
  name: z
    .string({ error: NAME_FORM })
    .prefault('')
    .describe('Name of the call, with captures: {event}.{method}. For kind session: login or logout. Absent for none.'),
});

export type RestRule = Frozen<z.output<typeof writtenRule>>;

export const restRuleSchema = writtenRule.superRefine(compilesBy(compileRestRule));

export type CompiledRestRule = ReturnType<typeof compileRestRule>;

/**
 * Throws a `RuleMistake` for a rule that could never match or could not name its calls. The result's `name` has literal
 * texts, and the indexes of the captures to insert between them; without `isBelowPrefix`, the path may also begin below
 * the application.
 */
export function compileRestRule({ methods, path, kind, name }: RestRule) {
  if (kind === 'none' && name !== '') throw new RuleMistake(['name'], 'no name, since kind none is not counted');
  if (kind === 'session' && name !== 'login' && name !== 'logout') {
    throw new RuleMistake(['name'], 'login or logout, since kind is session');
  }
  if (kind !== 'none' && name === '') throw new RuleMistake(['name'], NAME_FORM);
  const pattern = orMistake(parsePath(path), ['path'], PATH_FORM);
  const parts = parseName(name, /[{}]/, (reference) => {
    const index = pattern.captures.indexOf(reference);
    if (index < 0) throw new RuleMistake(['name'], `only captures that are in the path ${path}`);
    return index;
  });
  return { methods, kind, pattern, isBelowPrefix: !path.startsWith('/'), name: orMistake(parts, ['name'], NAME_FORM) };
}

/** Texts are compared decoded. Dot segments could never match: they are resolved before rules are tried. */
function parsePath(path: string): Pattern | undefined {
  return parsePattern(trimSlashes(path), (segment) => {
    const text = decodeText(segment);
    return /^[^\s{}?;#]+$/.test(segment) && text !== '.' && text !== '..' ? text : undefined;
  });
}

export const DENIED_PATH_FORM = 'a path such as /manager, and not /';

/** A path that only clients on loopback may request, e.g. `/manager`. Percent-escapes mean the same as in a request. */
export function parseDeniedPath(text: string): Parsed<string> {
  const path = parseContextPath(text);
  const isUsable = path.kind === 'ok' && path.value !== '' && !path.value.includes(';');
  return isUsable ? { kind: 'ok', value: `/${path.value}` } : { kind: 'bad', expected: DENIED_PATH_FORM };
}
