import { sanitizeText } from '../../base/shown-text.ts';
import { decodeSegment } from '../classify/path.ts';

const MAX_NAME_CHARS = 32;
/** An escaped character takes up to 12 characters. */
const MAX_RAW_CHARS = 12 * MAX_NAME_CHARS;
const MAX_DIGITS = 4;
const MAX_SWITCHES = 3;

/**
 * Returns the segment, with hidden characters as U+FFFD, if it looks like the name of an application or a page, and not
 * like a secret. It must begin with a letter, followed by letters, digits, dots, dashes and underscores. It has at most
 * 32 characters, 4 digits, and 3 places where a digit or a capital follows another kind. Ids, tokens and encoded data
 * are longer or mix letters and digits; for them the result is undefined.
 */
export function selectHarmlessName(segment: string | undefined): string | undefined {
  if (segment === undefined || segment.length > MAX_RAW_CHARS) return undefined;
  const name = sanitizeText(decodeSegment(segment));
  if (name.length > MAX_NAME_CHARS || !NAME.test(name)) return undefined;
  const isMixed = countOf(name, DIGITS) > MAX_DIGITS || countOf(name, SWITCHES) > MAX_SWITCHES;
  return isMixed ? undefined : name;
}

const NAME = /^\p{L}[\p{L}\p{M}\p{N}\ufffd._-]*$/u;
const DIGITS = /\p{N}/gu;
const SWITCHES = /(?<=\p{Ll})\p{Lu}|(?<=\p{L})\p{N}|(?<=\p{N})\p{L}/gu;

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
