/** Reads YAML 1.2, which includes JSON. Reports mistakes without quoting the text, which may contain secrets. */
import type { Node, Pair, Scalar } from 'yaml';
import { ConfigError } from '../base/errors.ts';
import { type KeyPath, knownNamesAt } from './schema-walk.ts';
import { formatKey } from './written.ts';

/** Aliases that a document may resolve; more is an attempt to exhaust memory ("billion laughs"). */
const MAX_ALIASES = 100;

/** One mistake can cause several errors; the first ones are enough. */
const MAX_PLACES_SHOWN = 3;

/** Descriptions of common mistakes; others get the parser's code. */
const SLIPS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab as indentation, expected spaces',
  BAD_INDENT: 'wrong indentation, or a bracket that is not closed',
  DUPLICATE_KEY: 'a duplicate key',
  MISSING_CHAR: 'a missing character, such as a colon, a comma, a quote or a closing bracket',
  MULTIPLE_DOCS: 'a second document, expected one',
  UNEXPECTED_TOKEN: 'something unexpected',
  BAD_ALIAS: 'an alias without its anchor',
  MULTILINE_IMPLICIT_KEY: 'a key that does not end on its line, perhaps because of a missing colon',
  BLOCK_AS_IMPLICIT_KEY: 'a second colon on one line, or wrong indentation',
};

const ADVICE = 'Correct it at that line and column; d2-sidecar check --config FILE checks a file and starts nothing.';

/**
 * Returns the value of one document. `source` names it in messages; `base` is the key that has this value. Throws
 * ConfigError with line and column of each mistake.
 */
export async function parseYaml(text: string, source: string, base: KeyPath = []): Promise<unknown> {
  // Loaded on demand: a sidecar that is configured by flags alone saves the 50 ms of loading the parser.
  const { LineCounter, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  // Not 'silent', which would also suppress the error about a second document.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  if (document.errors.length > 0) {
    const slips = new Map<string, string[]>();
    for (const error of document.errors) {
      const { code, pos } = error;
      const { line, col } = lineCounter.linePos(pos[0]);
      const place = `${source}:${line}:${col}`;
      const repeated = code === 'DUPLICATE_KEY' ? findRepeated(document.contents, pos[0], base) : undefined;
      const slip = repeated
        ? `${repeated.name} is already in line ${lineCounter.linePos(repeated.firstPos).line}, expected once`
        : (SLIPS[code] ?? code.toLowerCase().replaceAll('_', ' '));
      slips.set(place, [...(slips.get(place) ?? []), slip]);
    }
    const lines = [...slips].slice(0, MAX_PLACES_SHOWN);
    throw new ConfigError(
      lines.map(([place, found]) => `${place}: not YAML: ${[...new Set(found)].join(', or ')}`).join('\n'),
      { advice: ADVICE },
    );
  }
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    // The parser's message is about its own limits; ours is enough.
    throw new ConfigError(`${source}: unusable YAML: aliases that refer to aliases, or to nothing`, {
      advice: 'Write out what the aliases stand for.',
    });
  }
}

/** The duplicate key at `pos`, and the place of its first occurrence. */
function findRepeated(node: unknown, pos: number, path: KeyPath): { name: string; firstPos: number } | undefined {
  const { items = [] } = (node ?? {}) as { readonly items?: readonly (Node | Pair<Scalar, Node>)[] };
  for (const [index, item] of items.entries()) {
    const pair = 'key' in item ? item : undefined;
    const at = [...path, pair === undefined ? index : String(pair.key.value)];
    if (pair?.key.range?.[0] === pos) {
      const isSame = (other: Node | Pair<Scalar>) => 'key' in other && other.key.value === pair.key.value;
      const first = items.find(isSame) as Pair<Scalar> | undefined;
      // An unknown key may be a secret written as a key, so it is not shown.
      const isKnown = knownNamesAt(path).includes(String(pair.key.value));
      return { name: isKnown ? formatKey(at) : 'this key', firstPos: first?.key.range?.[0] ?? 0 };
    }
    const found = findRepeated(pair === undefined ? item : pair.value, pos, at);
    if (found !== undefined) return found;
  }
  return undefined;
}
