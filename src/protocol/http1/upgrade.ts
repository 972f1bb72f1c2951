import { COMMA, isWordAt, SPACE } from './characters.ts';
import { withEditedLines } from './head-lines.ts';

/** Fields of an upgrade request, also listed in Connection (RFC 9110 §7.8; HTTP2-Settings: RFC 7540 §3.2.1). */
const UPGRADE_FIELDS: readonly string[] = ['upgrade', 'http2-settings'];

/**
 * A request's head without its upgrade, e.g. without `Upgrade: h2c`. A server may ignore an upgrade (RFC 9110 §7.8),
 * and then answers in HTTP/1.1. Removes Upgrade, HTTP2-Settings and their names in Connection; everything else stays
 * byte for byte.
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
