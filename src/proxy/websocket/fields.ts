/**
 * Fields of a handshake, and the answer that refuses one. Node's client and http-proxy know fields by name only, so
 * lines of one name come together.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
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

type ParsedResponse = Pick<IncomingMessage, 'statusCode' | 'statusMessage' | 'rawHeaders'>;

export function formatHead({ statusCode, statusMessage }: ParsedResponse, flat: FlatFields): string {
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${toLines(flat)}\r\n`;
}

export function viewHead(response: ParsedResponse): ResponseHeadFields {
  return new ResponseHeadFields(response.statusCode ?? 0, formatHead(response, response.rawHeaders));
}

/** Statuses without a body, whatever the fields say (RFC 9110 §6.4.1). */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/**
 * Passes on the answer of an upstream that does not upgrade, its head and its first bytes in one write. It is the
 * client's last. Returns whether only the connection's end ends it. `onEnd`: the whole answer has been read; `end` are
 * the last bytes for the client.
 */
export function passRefusal(
  response: IncomingMessage,
  client: Socket,
  { onBytes, onEnd }: { readonly onBytes: (bytes: Buffer) => void; readonly onEnd: (end: string) => void },
): boolean {
  const fields = fieldsByName(response.rawHeaders);
  const hasBody = !BODILESS.has(response.statusCode ?? 0);
  const isChunked = hasBody && membersOf(fields.get('transfer-encoding')).at(-1) === 'chunked';
  const isUntilClose = hasBody && !isChunked && (fields.has('transfer-encoding') || !fields.has('content-length'));
  const removed = new Set(['connection', 'keep-alive', ...(isChunked ? [] : ['trailer'])]);
  if (!hasBody) removed.add('transfer-encoding');
  const kept = response.rawHeaders.filter((_, i, flat) => !removed.has((flat[i - (i % 2)] as string).toLowerCase()));
  const options = membersOf(fields.get('connection')).filter((option) => option !== 'close' && option !== 'keep-alive');
  // http-proxy's own listener would write a chunked body without its framing (its PR #1439).
  client.cork();
  setImmediate(() => client.uncork());
  client.write(formatHead(response, [...kept, 'Connection', ['close', ...options].join(', ')]), 'latin1');
  const resume = () => response.resume();
  client.on('drain', resume);
  response.on('data', (bytes: Buffer) => {
    const size = `${bytes.length.toString(16)}\r\n`;
    if (!client.write(isChunked ? Buffer.concat([Buffer.from(size), bytes, CRLF]) : bytes)) response.pause();
    onBytes(bytes);
  });
  response.on('end', () => {
    client.off('drain', resume);
    if (response.complete) onEnd(isChunked ? `0\r\n${toLines(response.rawTrailers)}\r\n` : '');
  });
  return isUntilClose;
}

const CRLF = Buffer.from('\r\n', 'latin1');
