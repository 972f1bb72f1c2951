/** Reads YAML 1.2 (JSON is part of it), and says what is wrong with it without quoting it: the text may hold secrets. */
import { ConfigError } from '../errors.ts';

/** Aliases that a document may resolve; more is an attempt to blow up memory ("billion laughs"). */
const MAX_ALIASES = 100;

/** One slip makes the parser stumble several times; the first places tell enough. */
const MAX_PLACES_SHOWN = 3;

/** Words for the slips that people make; the rest are named by the parser's code. */
const SLIPS: Readonly<Record<string, string>> = {
  TAB_AS_INDENT: 'a tab as indentation, expected spaces',
  BAD_INDENT: 'wrong indentation, or a bracket that is not closed',
  DUPLICATE_KEY: 'a key that is already there',
  MISSING_CHAR: 'a missing character, such as a colon, a comma, a quote or a closing bracket',
  MULTIPLE_DOCS: 'a second document, expected one',
  UNEXPECTED_TOKEN: 'something unexpected',
  BAD_ALIAS: 'an alias without its anchor',
  MULTILINE_IMPLICIT_KEY: 'a key that does not end on its line, perhaps for want of a colon',
  BLOCK_AS_IMPLICIT_KEY: 'a second colon on one line, or wrong indentation',
};

/** The value of one document. `source` names it in messages. Throws ConfigError with the line of each mistake. */
export async function parseYaml(text: string, source: string): Promise<unknown> {
  // A sidecar that is told everything by flags starts without the 50 ms that loading the parser takes.
  const { LineCounter, parseDocument } = await import('yaml');
  const lineCounter = new LineCounter();
  // Not 'silent': that would silence the complaint about a second document as well.
  const document = parseDocument(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  if (document.errors.length > 0) {
    const slips = new Map<string, string[]>();
    for (const { code, pos } of document.errors) {
      const { line, col } = lineCounter.linePos(pos[0]);
      const place = `${source}:${line}:${col}`;
      slips.set(place, [...(slips.get(place) ?? []), SLIPS[code] ?? code.toLowerCase().replaceAll('_', ' ')]);
    }
    const lines = [...slips].slice(0, MAX_PLACES_SHOWN);
    throw new ConfigError(
      lines.map(([place, found]) => `${place}: not YAML: ${[...new Set(found)].join(', or ')}`).join('\n'),
    );
  }
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    // The parser's message is about its own limits; ours is all that a reader needs.
    throw new ConfigError(`${source}: not YAML that can be used: aliases that refer to aliases, or to nothing`);
  }
}
