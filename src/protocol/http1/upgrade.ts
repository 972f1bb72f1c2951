import { withEditedLines } from './head-lines.ts';

/** Fields of an upgrade request, also listed in Connection (RFC 9110 §7.8; HTTP2-Settings: RFC 7540 §3.2.1). */
const UPGRADE_FIELDS: ReadonlySet<string> = new Set(['upgrade', 'http2-settings']);

/**
 * A request's head without its upgrade, e.g. without `Upgrade: h2c`. A server may ignore an upgrade (RFC 9110 §7.8),
 * and then answers in HTTP/1.1. Removes Upgrade, HTTP2-Settings and their names in Connection; everything else stays
 * byte for byte.
 */
export function withoutUpgrade(headText: string): string {
  return withEditedLines(headText, (name, line) => {
    if (UPGRADE_FIELDS.has(name)) return '';
    return name === 'connection' ? withoutOptions(line, UPGRADE_FIELDS) : line;
  });
}

function withoutOptions(line: string, removed: ReadonlySet<string>): string {
  const colon = line.indexOf(':');
  const options = line.slice(colon + 1).split(',');
  const kept = options.filter((option) => !removed.has(option.trim().toLowerCase()));
  if (kept.length === options.length) return line;
  const value = kept
    .map((option) => option.trim())
    .filter((option) => option !== '')
    .join(', ');
  return value === '' ? '' : `${line.slice(0, colon)}: ${value}\r\n`;
}
