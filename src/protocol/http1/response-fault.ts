import { FIELD_VALUE, TOKEN } from './characters.ts';
import { ABSENT, readFields, UNCLEAR } from './field-summary.ts';

const MAX_NAME_LENGTH = 40;
const START_LINE = /^HTTP\/1\.[01] [1-9]\d\d(?: |$)/;

/**
 * Removes what a proxy has to remove from a response's head: blanks before a colon (RFC 9112 §5.1) and folds (§5.2).
 * `text` itself without either.
 */
export function mendedHead(text: string): string {
  // A blank after the status line is no fold.
  if (/^[^\r]*\r\n[ \t]/.test(text)) return text;
  return text.replace(/\r\n[ \t]+/g, ' ').replace(/(\r\n[!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]+:/g, '$1:');
}

/**
 * What is wrong with a response's head that cannot be read, e.g. `field X-Name (line 3)`, for the log. Never has a
 * field's value, or a line that is no field: either may hold a secret.
 */
export function describeHeadFault(text: string): string {
  const lines = text.split('\r\n');
  if (!START_LINE.test(lines[0] ?? '')) return 'status line';
  for (const [index, line] of lines.slice(1, -2).entries()) {
    const colon = line.indexOf(':');
    const name = colon === -1 ? '' : line.slice(0, colon);
    const where = `line ${index + 2}`;
    if (!isEach(name, TOKEN) || name === '') return where;
    if (!isEach(line.slice(colon + 1), FIELD_VALUE)) return `field ${name.slice(0, MAX_NAME_LENGTH)} (${where})`;
  }
  const bytes = Buffer.from(text, 'latin1');
  const fields = readFields(bytes, text.indexOf('\r\n') + 2, bytes.length);
  if (fields.contentLength === UNCLEAR) return 'field Content-Length';
  if (fields.hasTransferEncoding && fields.contentLength !== ABSENT) return 'Content-Length beside Transfer-Encoding';
  return 'status line';
}

function isEach(text: string, characters: Uint8Array): boolean {
  for (let i = 0; i < text.length; i += 1) if (characters[text.charCodeAt(i)] !== 1) return false;
  return true;
}
