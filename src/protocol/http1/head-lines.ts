/**
 * Edits the field lines of `headText`: a whole head in latin1 such as `GET / HTTP/1.1\r\nHost: a\r\n\r\n`.
 *
 * `edit` gets each line's lower-case name and the line with its CRLF, and returns the replacement (`''` removes the
 * line). A folded line (RFC 9112 §5.2) counts as one line. A line that `edit` returns unchanged keeps every byte.
 */
export function withEditedLines(headText: string, edit: (name: string, line: string) => string): string {
  let edited = '';
  let at = headText.indexOf('\r\n') + 2;
  edited += headText.slice(0, at);
  while (at < headText.length) {
    const end = endOfLine(headText, at);
    const line = headText.slice(at, end);
    const colon = line.indexOf(':');
    edited += colon === -1 ? line : edit(line.slice(0, colon).trimEnd().toLowerCase(), line);
    at = end;
  }
  return edited;
}

function endOfLine(headText: string, start: number): number {
  let end = headText.indexOf('\r\n', start);
  while (end > start && isBlank(headText[end + 2])) end = headText.indexOf('\r\n', end + 2);
  return end === -1 ? headText.length : end + 2;
}

function isBlank(character: string | undefined): boolean {
  return character === ' ' || character === '\t';
}
