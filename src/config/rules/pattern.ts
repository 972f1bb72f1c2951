/**
 * The syntax that REST rules and Comet rules share: patterns such as `d2/rpc/{event}/{method}`, and names such as
 * `{event}.{method}`. The schema of a rule compiles it to check it, and the classifier uses the compiled form. This
 * folder must not know how requests and messages are read.
 */
import { attempt } from '../../base/attempt.ts';
import { ConfigError } from '../../base/errors.ts';

/** An unusable rule: the path of its wrong key, and what was expected there. */
export class RuleMistake extends ConfigError {
  readonly path: readonly string[];
  readonly expected: string;

  constructor(path: readonly string[], expected: string) {
    super(`${path.join('.')}: expected ${expected}`);
    this.path = path;
    this.expected = expected;
  }
}

/** Returns the value; throws a `RuleMistake` if parsing found none. */
export function orMistake<T>(value: T | undefined, path: readonly string[], expected: string): T {
  if (value === undefined) throw new RuleMistake(path, expected);
  return value;
}

/** A check for a schema: refuses a rule that `compile` refuses, at the wrong key. */
export function compilesBy<Rule>(compile: (rule: Rule) => unknown) {
  return (rule: Rule, context: { readonly issues: unknown[] }): void => {
    try {
      compile(rule);
    } catch (error) {
      if (!(error instanceof RuleMistake)) throw error;
      context.issues.push({ code: 'custom', path: [...error.path], message: error.expected, input: rule });
    }
  };
}

export interface Pattern {
  /** A text to compare with, or null for a capture, which matches exactly one segment. */
  readonly segments: readonly (string | null)[];
  /** Names of the captures, in order: `['event', 'method']`. */
  readonly captures: readonly string[];
}

/**
 * Reads segments between slashes, each a capture or a text that `parseText` accepts. Undefined if one is neither, or if a
 * capture occurs twice.
 */
export function parsePattern(path: string, parseText: (segment: string) => string | undefined): Pattern | undefined {
  const segments: (string | null)[] = [];
  const captures: string[] = [];
  for (const segment of path.split('/')) {
    const capture = CAPTURE.exec(segment)?.[1];
    const text = capture === undefined ? parseText(segment) : null;
    if (text === undefined || (capture !== undefined && captures.includes(capture))) return undefined;
    segments.push(text);
    if (capture !== undefined) captures.push(capture);
  }
  return { segments, captures };
}

/** The captured segments in order; `[]` for a match without captures; undefined for no match. */
export function matchPattern(
  { segments: wanted }: Pattern,
  segments: readonly string[],
  offset: number,
): string[] | undefined {
  if (wanted.length !== segments.length - offset) return undefined;
  const captured: string[] = [];
  for (let index = 0; index < wanted.length; index += 1) {
    const segment = segments[offset + index] ?? '';
    if (wanted[index] === null && segment !== '') captured.push(segment);
    else if (wanted[index] !== segment) return undefined;
  }
  return captured;
}

/**
 * Parses a name into texts and parts; `parsePart` creates the part of each reference in braces. Undefined if a text
 * matches `forbidden`.
 */
export function parseName<Part>(
  name: string,
  forbidden: RegExp,
  parsePart: (reference: string) => Part,
): (string | Part)[] | undefined {
  // Splitting at a capturing group yields texts and references in turn.
  const pieces = name.split(REFERENCE);
  if (pieces.some((piece, at) => at % 2 === 0 && forbidden.test(piece))) return undefined;
  return pieces.map((piece, at) => (at % 2 === 0 ? piece : parsePart(piece))).filter((part) => part !== '');
}

/** Percent-decodes a text; one that cannot be decoded stays as written, since a percent sign may be part of a name. */
export function decodeText(text: string): string {
  // Most texts have none.
  return text.includes('%') ? (attempt(() => decodeURIComponent(text)) ?? text) : text;
}

const CAPTURE = /^\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
const REFERENCE = /\{([^{}]*)\}/;
