/** Fields of a handshake. Node's client and http-proxy know them by name only, so lines of one name come together. */
import { ResponseHeadFields } from '../../protocol/http1/response-reader.ts';

/** Name, value, name, value, in order, as in Node's `rawHeaders`. */
export type FlatFields = readonly string[];

export interface NamedField {
  /** In the letter case of its first line. */
  readonly name: string;
  readonly values: string[];
}

/** Of a whole head in latin1, start line included. */
export function fieldsOfHead(headText: string): FlatFields {
  return headText
    .split('\r\n')
    .slice(1, -2)
    .flatMap((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).replace(BLANKS_AROUND, '')];
    });
}

/** `trim` removes more: a no-break space is no blank (RFC 9110 §5.6.3). */
const BLANKS_AROUND = /^[ \t]+|[ \t]+$/g;

/** By the lower-case name, each at the place of its first line. */
export function fieldsByName(flat: FlatFields): Map<string, NamedField> {
  const fields = new Map<string, NamedField>();
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = flat[i] as string;
    const field = fields.get(name.toLowerCase());
    if (field === undefined) fields.set(name.toLowerCase(), { name, values: [flat[i + 1] as string] });
    else field.values.push(flat[i + 1] as string);
  }
  return fields;
}

/** Members of a list field, in lower case, e.g. `['keep-alive', 'upgrade']` (RFC 9110 §5.6.1). */
export function membersOf(field: NamedField | undefined): readonly string[] {
  return (field?.values ?? [])
    .flatMap((value) => value.split(','))
    .map((member) => member.trim().toLowerCase())
    .filter((member) => member !== '');
}

/** As on the wire, without the empty line. Latin1. */
export function toLines(flat: FlatFields): string {
  let lines = '';
  for (let i = 0; i + 1 < flat.length; i += 2) lines += `${flat[i]}: ${flat[i + 1]}\r\n`;
  return lines;
}

interface ParsedResponse {
  readonly statusCode?: number | undefined;
  readonly statusMessage?: string | undefined;
  readonly rawHeaders: FlatFields;
}

/** A response's head as bytes in latin1. */
export function formatHead({ statusCode, statusMessage }: ParsedResponse, flat: FlatFields): string {
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${toLines(flat)}\r\n`;
}

export function viewHead(response: ParsedResponse): ResponseHeadFields {
  return new ResponseHeadFields(response.statusCode ?? 0, formatHead(response, response.rawHeaders));
}
