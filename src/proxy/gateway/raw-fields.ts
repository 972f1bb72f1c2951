/**
 * Fields as they came, from `rawHeaders` (name, value, name, value). Node's own `headers` merges and drops duplicates
 * and loses letter case.
 */
import type { IncomingMessage } from 'node:http';
import { withoutUpgrade } from '../../protocol/http1/upgrade.ts';
import type { RequestHead, ResponseHeadView } from '../exchange/exchange.ts';

export type RawFields = readonly string[];

/** Calls `onField` for each field line in order, with its lower-case name. */
export function forEachField(raw: RawFields, onField: (lowerName: string, value: string, name: string) => void): void {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    onField(name.toLowerCase(), raw[i + 1] as string, name);
  }
}

/** All values of the field with this lower-case name, in order. */
export function valuesOf(raw: RawFields, lowerName: string): readonly string[] {
  const values: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (isNamed(raw[i] as string, lowerName)) values.push(raw[i + 1] as string);
  }
  return values;
}

/** The first value of the field with this lower-case name. */
export function firstValue(raw: RawFields, lowerName: string): string | undefined {
  for (let i = 0; i + 1 < raw.length; i += 2) if (isNamed(raw[i] as string, lowerName)) return raw[i + 1];
  return undefined;
}

export function hasField(raw: RawFields, lowerName: string): boolean {
  return firstValue(raw, lowerName) !== undefined;
}

/** Compares the lengths first: most names differ in them, and `toLowerCase` for each would take a tenth of a call. */
function isNamed(name: string, lowerName: string): boolean {
  return name.length === lowerName.length && name.toLowerCase() === lowerName;
}

/** Members of a list field, lower-case, e.g. `['keep-alive', 'upgrade']` (RFC 9110 §5.6.1). */
export function listOf(raw: RawFields, lowerName: string): readonly string[] {
  return valuesOf(raw, lowerName)
    .flatMap((value) => value.split(','))
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== '');
}

/** Whether the last transfer coding is chunked (RFC 9112 §6.3). */
export function isChunked(raw: RawFields): boolean {
  return listOf(raw, 'transfer-encoding').at(-1) === 'chunked';
}

/** Trailers as pairs, for `addTrailers`. */
export function toPairs(raw: RawFields): [string, string][] {
  const pairs: [string, string][] = [];
  forEachField(raw, (_, value, name) => pairs.push([name, value]));
  return pairs;
}

/** Fields as on the wire, without the empty line. Latin1. */
export function toLines(raw: RawFields): string {
  let lines = '';
  forEachField(raw, (_, value, name) => {
    lines += `${name}: ${value}\r\n`;
  });
  return lines;
}

/** Fields without the ones that ask for an upgrade; `withoutUpgrade` does the same for a head's text. */
export function withoutUpgradeFields(raw: RawFields): string[] {
  const lines = withoutUpgrade(`\r\n${toLines(raw)}\r\n`)
    .split('\r\n')
    .slice(1, -2);
  return lines.flatMap((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 2)];
  });
}

/**
 * One entry for each name, in the letter case and at the place of its first line, as Node's `setHeader` and
 * http-proxy's 101 need it.
 */
export function toGroups(raw: RawFields): Map<string, { readonly name: string; readonly values: string[] }> {
  const groups = new Map<string, { readonly name: string; readonly values: string[] }>();
  forEachField(raw, (lowerName, value, name) => {
    const group = groups.get(lowerName);
    if (group === undefined) groups.set(lowerName, { name, values: [value] });
    else group.values.push(value);
  });
  return groups;
}

class RawHead {
  readonly #raw: RawFields;

  constructor(raw: RawFields) {
    this.#raw = raw;
  }

  field(name: string): string | undefined {
    return firstValue(this.#raw, name);
  }

  fields(name: string): readonly string[] {
    return valuesOf(this.#raw, name);
  }
}

export class GatewayRequestHead extends RawHead implements RequestHead {
  readonly method: string;
  readonly target: string;

  constructor(request: IncomingMessage) {
    super(request.rawHeaders);
    this.method = request.method ?? '';
    this.target = request.url ?? '';
  }
}

export class GatewayResponseHead extends RawHead implements ResponseHeadView {
  readonly status: number;

  constructor(response: IncomingMessage) {
    super(response.rawHeaders);
    this.status = response.statusCode ?? 0;
  }
}
