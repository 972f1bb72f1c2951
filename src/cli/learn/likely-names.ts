/**
 * Distinguishes names that a programmer gave (`rpcName`, `subscribeObject`) from data used as names (`H.Demo`,
 * `3f2a91bc`, `P101`). In doubt it is data, because names are shown in a report that may leave the site.
 */

/** Whether an object's key looks like the name of a field, and may be shown. */
export function looksLikeField(key: string): boolean {
  return FIELD.test(key) && !hasManyDigits(key) && !looksRandom(key);
}

/** Whether a channel's segment looks like a word, without the dots in names of objects, and may be shown. */
export function looksLikeWord(segment: string): boolean {
  return WORD.test(segment) && !hasManyDigits(segment) && !looksRandom(segment);
}

/** Whether a text looks generated: ids, hashes, tokens. */
export function looksRandom(text: string): boolean {
  if (UUID.test(text) || text.length > MAX_NAME) return true;
  const digits = countOf(text, DIGITS);
  if (text.length >= 6 && digits / text.length >= 0.4) return true;
  if (text.length < MIN_RANDOM) return false;
  if (digits >= 3 && !text.includes('.')) return true;
  if (text.length >= 10 && countOf(text, CHANGES) > text.length / 3) return true;
  return countOf(text, LETTERS) === text.length && countOf(text, VOWELS) < text.length / 10;
}

/** Two names with the same result differ in their numbers only: `Tank1` and `Tank2`. */
export function withoutNumbers(text: string): string {
  return text.replace(DIGITS_RUN, '#');
}

function hasManyDigits(text: string): boolean {
  return countOf(text, DIGITS) > 2;
}

function countOf(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}

const MAX_NAME = 40;
const MIN_RANDOM = 8;
const FIELD = /^[\p{L}_$@][\p{L}\p{N}_$-]{0,39}$/u;
const WORD = /^\p{L}[\p{L}\p{N}_-]{0,39}$/u;
const UUID = /^[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}$/i;
const DIGITS = /\p{N}/gu;
const DIGITS_RUN = /\p{N}+/gu;
/** Changes between lower case, upper case and digits; camelCase has few of them. */
const CHANGES = /(?<=\p{Ll})[\p{Lu}\p{N}]|(?<=\p{Lu})[\p{Ll}\p{N}]|(?<=\p{N})\p{L}/gu;
const LETTERS = /[A-Za-z]/g;
const VOWELS = /[aeiouy]/gi;
