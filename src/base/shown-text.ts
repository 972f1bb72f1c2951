/**
 * Makes `text` safe for terminals, browsers and log viewers. Each control character (e.g. ESC), line or paragraph
 * separator, and invisible format character (e.g. U+202E, which reverses the direction of the text after it) becomes
 * U+FFFD.
 *
 * Names come from clients. Unchanged, they could rewrite a reader's terminal, or make one name look like another.
 */
export function sanitizeText(text: string): string {
  return PLAIN.test(text) ? text : text.replace(HIDDEN, '\ufffd');
}

/** The same for a text of several lines: keeps line feeds and tabs. */
export function sanitizeLines(text: string): string {
  return PLAIN_LINES.test(text) ? text : text.replace(HIDDEN, (found) => (isLayout(found) ? found : '\ufffd'));
}

/** The same for a JSON document, without a change of its values: hidden characters become escapes, e.g. `\u202e`. */
export function escapeHidden(json: string): string {
  if (PLAIN_LINES.test(json)) return json;
  return json.replace(HIDDEN, (found) => (isLayout(found) ? found : found.split('').map(escapeUnit).join('')));
}

/** Most names match: this test takes 20 ns, the search for hidden characters 35 ns. */
const PLAIN = /^[ -~]*$/;
const PLAIN_LINES = /^[ -~\n\t]*$/;
/** C0, DEL, C1; format characters, e.g. direction marks; U+2028 and U+2029. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function isLayout(character: string): boolean {
  return character === '\n' || character === '\t';
}

/** The escape of a UTF-16 code unit in JSON, e.g. `\u202e`. */
export function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
