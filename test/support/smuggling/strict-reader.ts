/** A strict reading by RFC 9112, independent of `src/protocol/http1`: what it accepts must be read like this or refused. */

export interface StrictRequest {
  readonly method: string;
  readonly target: string;
  /** Name (lower-case) and value, in order. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Without transfer coding; latin1. Undefined if incomplete or malformed. */
  readonly body: string | undefined;
}

export interface StrictReading {
  /** The last one may lack the end of its body. */
  readonly requests: readonly StrictRequest[];
  /** `complete`: nothing is left. `open`: the last body goes on. `cut`: a head begins. `refused`: the rest must not be interpreted. */
  readonly end: 'complete' | 'open' | 'cut' | 'refused';
}

const REQUEST_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21\x22\x24-\x7e\x80-\xff]+) HTTP\/1\.([01])$/;
const FIELD_LINE = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = '"(?:[\\t \\x21\\x23-\\x5b\\x5d-\\x7e\\x80-\\xff]|\\\\[\\t\\x20-\\x7e\\x80-\\xff])*"';
const EXTENSION = `[ \\t]*;[ \\t]*${TOKEN}(?:[ \\t]*=[ \\t]*(?:${TOKEN}|${QUOTED}))?`;
/** Blanks may end it, too. */
const CHUNK_LINE = new RegExp(`^([0-9A-Fa-f]+)(?:${EXTENSION})*[ \\t]*$`);
/** RFC 9112 §6.2, §7.1: any number of 64 bits is a length, however long it would take. */
const MAX_SIZE = 2n ** 64n - 1n;

type Fields = readonly (readonly [name: string, value: string])[];

/** Where something ends, or that it does not end (yet). */
type End = number | 'open' | 'refused';

export function readStrictly(text: string): StrictReading {
  const emptyLines = /(?:\r\n)*/y;
  const requests: StrictRequest[] = [];
  for (let at = 0; ; ) {
    emptyLines.lastIndex = at;
    at += emptyLines.exec(text)?.[0].length ?? 0;
    if (at === text.length) return { requests, end: 'complete' };
    const headEnd = text.indexOf('\r\n\r\n', at);
    if (headEnd === -1) return { requests, end: 'cut' };
    const head = readHead(text.slice(at, headEnd));
    if (head === undefined) return { requests, end: 'refused' };
    const body = readBody(text, headEnd + 4, head.framing);
    requests.push({ ...head, body: typeof body.end === 'number' ? body.content : undefined });
    if (typeof body.end !== 'number') return { requests, end: body.end };
    at = body.end;
  }
}

interface StrictHead {
  readonly method: string;
  readonly target: string;
  readonly fields: Fields;
  readonly framing: number | 'chunked';
}

function readHead(text: string): StrictHead | undefined {
  const [first = '', ...lines] = text.split('\r\n');
  const start = REQUEST_LINE.exec(first);
  const fields = readFields(lines);
  if (start === null || fields === undefined) return undefined;
  const [, method = '', target = '', minor] = start;
  // A tunnel: no request follows.
  if (method === 'CONNECT') return undefined;
  const hosts = valuesOf(fields, 'host').length;
  if (hosts > 1 || (hosts === 0 && minor === '1')) return undefined;
  const framing = readFraming(fields, minor === '0');
  return framing === undefined ? undefined : { method, target, fields, framing };
}

function readFields(lines: readonly string[]): Fields | undefined {
  const fields: [string, string][] = [];
  for (const line of lines) {
    const match = FIELD_LINE.exec(line);
    if (match === null) return undefined;
    fields.push([(match[1] as string).toLowerCase(), (match[2] as string).replace(/[ \t]+$/, '')]);
  }
  return fields;
}

function valuesOf(fields: Fields, name: string): string[] {
  return fields.filter(([own]) => own === name).map(([, value]) => value);
}

/** RFC 9112 §6.3, refusing everything that a server may refuse. */
function readFraming(fields: Fields, isVersion10: boolean): number | 'chunked' | undefined {
  const lengths = valuesOf(fields, 'content-length');
  const codings = valuesOf(fields, 'transfer-encoding');
  if (codings.length > 0) {
    const names = codings
      .join(',')
      .split(',')
      .map((name) => name.replace(/^[ \t]+|[ \t]+$/g, '').toLowerCase());
    const isChunked = names.at(-1) === 'chunked' && names.indexOf('chunked') === names.length - 1;
    const isToken = names.every((name) => new RegExp(`^${TOKEN}$`).test(name));
    return isChunked && isToken && !isVersion10 && lengths.length === 0 ? 'chunked' : undefined;
  }
  if (lengths.length === 0) return 0;
  const [length = ''] = lengths;
  return lengths.length === 1 && /^\d+$/.test(length) && BigInt(length) <= MAX_SIZE ? Number(length) : undefined;
}

/** The content of a chunked body that is whole. */
export function contentOfChunks(text: string): string {
  return readChunks(text, 0).content;
}

function readBody(text: string, from: number, framing: number | 'chunked'): { content: string; end: End } {
  if (framing === 'chunked') return readChunks(text, from);
  const end = from + framing;
  return end > text.length ? { content: '', end: 'open' } : { content: text.slice(from, end), end };
}

/** A chunked body from `from` on. */
export function readChunks(text: string, from: number): { content: string; end: End } {
  let content = '';
  for (let at = from; ; ) {
    const lineEnd = endOfLine(text, at);
    if (typeof lineEnd !== 'number') return { content, end: lineEnd };
    const digits = CHUNK_LINE.exec(text.slice(at, lineEnd))?.[1];
    if (digits === undefined || BigInt(`0x${digits}`) > MAX_SIZE) return { content, end: 'refused' };
    const size = Number.parseInt(digits, 16);
    at = lineEnd + 2;
    if (size === 0) return { content, end: endOfTrailers(text, at) };
    content += text.slice(at, at + size);
    at += size;
    if (at + 2 > text.length) return { content, end: 'open' };
    if (!text.startsWith('\r\n', at)) return { content, end: 'refused' };
    at += 2;
  }
}

function endOfTrailers(text: string, from: number): End {
  for (let at = from; ; ) {
    const lineEnd = endOfLine(text, at);
    if (typeof lineEnd !== 'number') return lineEnd;
    if (lineEnd === at) return at + 2;
    if (!FIELD_LINE.test(text.slice(at, lineEnd))) return 'refused';
    at = lineEnd + 2;
  }
}

/** The offset of the CRLF that ends a line; a bare CR or LF in it is refused. */
function endOfLine(text: string, from: number): End {
  const at = text.slice(from).search(/[\r\n]/);
  if (at === -1 || (text[from + at] === '\r' && from + at + 1 === text.length)) return 'open';
  return text.startsWith('\r\n', from + at) ? from + at : 'refused';
}
