/**
 * `text` as terminals, browsers and log viewers may show it: each control character (e.g. ESC), line or paragraph separator, and
 * invisible format character (e.g. U+202E, which turns the direction of the text after it) is U+FFFD. Everything else stays.
 *
 * Names come from clients: unchanged, they could rewrite the terminal of a reader, or make one name look like another.
 */
export function toShownText(text: string): string {
  return PLAIN.test(text) ? text : text.replace(HIDDEN, '\ufffd');
}

/** Most names: 20 ns for such a one, in place of 35 for looking for what is hidden. */
const PLAIN = /^[ -~]*$/;
/** C0, DEL, C1; format characters, e.g. direction marks; U+2028 and U+2029. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;
