/** Heads and bodies of a planned call, as its client and the upstream send them. */
import { STATUS_CODES } from 'node:http';
import { fieldOf, type Head, type Message, statusOf } from '../../system/wire/message-reader.ts';
import type { CallKind, CallPlan } from './call-plan.ts';
import { patternOf } from './pattern.ts';

export const ID_FIELD = 'X-Chaos';
const HOST = 'plant.example';
const COMET_CLIENTS = 200;

const TYPES = { comet: 'application/json;charset=UTF-8', other: 'application/octet-stream' };

/** Without `Connection`, which belongs to the connection. */
export function requestLines({ id, method, target, user, kind, request }: CallPlan): string[] {
  const credentials = Buffer.from(`user${user}:passw0rd`).toString('base64');
  const lines = [`${method} ${target} HTTP/1.1`, `Host: ${HOST}`, `${ID_FIELD}: ${id}`];
  return [...lines, `Authorization: Basic ${credentials}`, ...bodyLines(kind, request)];
}

/** Without `Connection`. A HEAD is answered with the length that a GET would have. */
export function answerLines({ id, kind, method, answer }: CallPlan): string[] {
  const start = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`;
  const length = method === 'HEAD' ? ['Content-Length: 4711'] : bodyLines(kind, answer);
  return [start, `${ID_FIELD}: ${id}`, 'Cache-Control: no-store', ...length, `X-Chaos-Note: an odd; value, of ${id}`];
}

export function isProblem(head: Head): boolean {
  return fieldOf(head, ID_FIELD) === undefined && fieldOf(head, 'proxy-status')?.startsWith('d2-sidecar;') === true;
}

/** The code of a problem. The answer to a HEAD has none. */
export function problemCodeOf(answer: Message): string {
  return /"code":"(\w+)"/.exec(answer.body.describe())?.[1] ?? `status ${statusOf(answer)}`;
}

/** The lines of a head except the given fields (lower-case). */
export function linesWithout({ startLine, fields }: Head, ...names: readonly string[]): string[] {
  const isKept = (line: string) => !names.includes(line.slice(0, line.indexOf(':')).toLowerCase());
  return [startLine, ...fields.filter(isKept)];
}

function bodyLines(kind: CallKind, { framing, bytes }: Pick<CallPlan['answer'], 'framing' | 'bytes'>): string[] {
  if (framing === 'none') return [];
  const type = `Content-Type: ${kind === 'comet' ? TYPES.comet : TYPES.other}`;
  if (framing === 'length') return [type, `Content-Length: ${bytes}`];
  return framing === 'chunked' ? [type, 'Transfer-Encoding: chunked'] : [type];
}

export function requestHead(plan: CallPlan): string {
  return toHead(requestLines(plan), plan.request.isLast);
}

export function answerHead(plan: CallPlan): string {
  return toHead(answerLines(plan), plan.answer.isLast);
}

export function requestBody(seed: number, plan: CallPlan): Buffer {
  const { id, kind, request } = plan;
  return kind === 'comet' ? pollBody(seed, plan) : patternOf(seed, `${id}/request`, request.bytes);
}

export function answerBody(seed: number, plan: CallPlan): Buffer {
  const { id, kind, answer } = plan;
  return kind === 'comet' ? pollAnswer(seed, plan) : patternOf(seed, `${id}/answer`, answer.bytes);
}

/** A bounded number of clients, as a real server has: the sidecar's memory per client must not look like a leak. */
export function clientIdOf(id: string): string {
  return `client-${Number(id.slice(1)) % COMET_CLIENTS}`;
}

function pollBody(seed: number, { id, request }: CallPlan): Buffer {
  const message = { channel: '/meta/connect', clientId: clientIdOf(id), id, connectionType: 'long-polling' };
  return padded(seed, `${id}/request`, [message], request.bytes);
}

function pollAnswer(seed: number, { id, answer }: CallPlan): Buffer {
  const toValue = (i: number) => ({ channel: `/d2/object/P.Chaos${i}`, data: { value: i, call: id } });
  const values = Array.from({ length: answer.values }, (_, i) => toValue(i));
  const message = { channel: '/meta/connect', clientId: clientIdOf(id), id, successful: true };
  return padded(seed, `${id}/answer`, [...values, message], answer.bytes);
}

/** The messages as JSON of exactly `bytes` bytes, padded by a pattern in the last one's `ext`. */
function padded(seed: number, label: string, messages: readonly object[], bytes: number): Buffer {
  const toJson = (noise: string) => JSON.stringify([...messages.slice(0, -1), { ...messages.at(-1), ext: { noise } }]);
  const missing = bytes - toJson('').length;
  if (missing < 0) throw new Error(`${label}: ${bytes} bytes are too few`);
  return Buffer.from(toJson(patternOf(seed, label, missing).toString('hex').slice(0, missing)), 'latin1');
}

function toHead(lines: readonly string[], isLast: boolean): string {
  return `${[...lines, ...(isLast ? ['Connection: close'] : [])].join('\r\n')}\r\n\r\n`;
}

export function toWire(framing: CallPlan['answer']['framing'], payload: Buffer): Buffer {
  if (framing !== 'chunked' || payload.length === 0) return payload;
  return Buffer.concat([Buffer.from(`${payload.length.toString(16)}\r\n`), payload, Buffer.from('\r\n')]);
}

export function toWireEnd(framing: CallPlan['answer']['framing'], id: string, hasTrailer: boolean): Buffer {
  const trailer = hasTrailer ? `${trailerOf(id, true)}\r\n` : '';
  return Buffer.from(framing === 'chunked' ? `0\r\n${trailer}\r\n` : '');
}

export function trailerOf(id: string, hasTrailer: boolean): string {
  return hasTrailer ? `X-Chaos-End: ${id}` : '';
}

/** The pieces in which a body is sent; `pieceBytes` 0: one. */
export function piecesOf(body: Buffer, pieceBytes: number): Buffer[] {
  // A large body in tiny pieces would take longer than the run.
  const size = pieceBytes === 0 ? body.length : Math.max(pieceBytes, Math.ceil(body.length / 40));
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size));
  return pieces;
}
