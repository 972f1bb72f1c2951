import { COMMA, isWordAt, SPACE } from './characters.ts';

const EMPTY_LINE_BYTES = 2;

/**
 * Edits the field lines of a whole head in latin1. `edit` gets each line's lower-case name and the line with its CRLF
 * and folds (RFC 9112 §5.2), and returns the replacement; `''` removes it. An unchanged line keeps every byte.
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

/** Replaces the client's own field, or adds one at the end. */
export function withTraceparent(headText: string, traceparent: string): string {
  const line = `traceparent: ${traceparent}\r\n`;
  let isPlaced = false;
  const edited = withEditedLines(headText, (name, own) => {
    if (name !== 'traceparent') return own;
    const replacement = isPlaced ? '' : line;
    isPlaced = true;
    return replacement;
  });
  return isPlaced ? edited : `${headText.slice(0, -EMPTY_LINE_BYTES)}${line}\r\n`;
}

/** Adds `Connection: close` to a response (RFC 9112 §9.6). */
export function withDrainNotice(bytes: Buffer, headEnd: number, end: number): Buffer {
  return withLines(bytes, headEnd, end, 'Connection: close\r\n');
}

/** Copies `bytes` up to `end`, with latin1 `lines` inserted before the empty line that ends at `headEnd`. */
export function withLines(bytes: Buffer, headEnd: number, end: number, lines: string): Buffer {
  const at = headEnd - EMPTY_LINE_BYTES;
  const copy = Buffer.allocUnsafe(end + lines.length);
  bytes.copy(copy, 0, 0, at);
  copy.write(lines, at, 'latin1');
  bytes.copy(copy, at + lines.length, at, end);
  return copy;
}

/** Fields of an upgrade request, also listed in Connection (RFC 9110 §7.8; HTTP2-Settings: RFC 7540 §3.2.1). */
const UPGRADE_FIELDS: readonly string[] = ['upgrade', 'http2-settings'];

/**
 * A request's head without Upgrade, HTTP2-Settings and their names in Connection; everything else stays byte for byte.
 * A server may ignore an upgrade (RFC 9110 §7.8), and then answers in HTTP/1.1.
 */
export function withoutUpgrade(headText: string): string {
  return withEditedLines(headText, (name, line) => {
    if (UPGRADE_FIELDS.includes(name)) return '';
    return name === 'connection' ? withoutUpgradeOptions(line) : line;
  });
}

/** `Connection: a, Upgrade, b` without the options of an upgrade; '' if none is left. One pass, without a list. */
function withoutUpgradeOptions(line: string): string {
  const bytes = Buffer.allocUnsafe(line.length);
  const listStart = line.indexOf(':') + 1;
  const end = line.length - 2;
  let length = bytes.write(line.slice(0, listStart), 'latin1');
  let hasOption = false;
  for (let at = listStart, next = at; at < end; at = next + 1) {
    next = indexOfComma(line, at, end);
    if (isUpgradeOption(line, at, next)) continue;
    if (hasOption) bytes[length++] = COMMA;
    for (let from = at; from < next; from += 1) bytes[length++] = line.charCodeAt(from);
    hasOption = true;
  }
  return hasOption ? `${bytes.toString('latin1', 0, length)}\r\n` : '';
}

function indexOfComma(line: string, from: number, end: number): number {
  let at = from;
  while (at < end && line.charCodeAt(at) !== COMMA) at += 1;
  return at;
}

function isUpgradeOption(line: string, start: number, end: number): boolean {
  let [from, to] = [start, end];
  while (from < to && line.charCodeAt(from) <= SPACE) from += 1;
  while (to > from && line.charCodeAt(to - 1) <= SPACE) to -= 1;
  return UPGRADE_FIELDS.some((name) => to - from === name.length && isWordAt(line, from, name));
}
