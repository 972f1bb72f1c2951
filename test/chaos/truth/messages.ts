/** Heads and bodies of a planned call, as its client and the upstream send them. */
import type { CallPlan } from './call-plan.ts';
import { patternOf } from './pattern.ts';

const REASONS: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  204: 'No Content',
  302: 'Found',
  400: 'Bad Request',
  401: 'Unauthorized',
  404: 'Not Found',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
};

/** The field that carries the call's id. */
export const ID_FIELD = 'X-Chaos';
export const TRAILER = 'X-Chaos-End';
export const HOST = 'plant.example';
const COMET_CLIENTS = 200;

/** Without `Connection`, which belongs to the connection. */
export function requestLines({ id, method, target, user, kind, request }: CallPlan): string[] {
  const credentials = Buffer.from(`user${user}:passw0rd`).toString('base64');
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${HOST}`,
    `${ID_FIELD}: ${id}`,
    `Authorization: Basic ${credentials}`,
  ];
  if (request.framing !== 'none') {
    lines.push(`Content-Type: ${kind === 'comet' ? 'application/json;charset=UTF-8' : 'application/octet-stream'}`);
  }
  if (request.framing === 'length') lines.push(`Content-Length: ${request.bytes}`);
  if (request.framing === 'chunked') lines.push('Transfer-Encoding: chunked');
  return lines;
}

export function requestHead(plan: CallPlan): string {
  return toHead(requestLines(plan), plan.request.isLast);
}

/** Without `Connection`. A HEAD is answered with the length that a GET would have. */
export function answerLines({ id, kind, method, answer }: CallPlan): string[] {
  const { status, framing, bytes } = answer;
  const lines = [`HTTP/1.1 ${status} ${REASONS[status]}`, `${ID_FIELD}: ${id}`, 'Cache-Control: no-store'];
  if (framing !== 'none') {
    lines.push(`Content-Type: ${kind === 'comet' ? 'application/json;charset=UTF-8' : 'application/octet-stream'}`);
  }
  if (framing === 'length') lines.push(`Content-Length: ${bytes}`);
  if (method === 'HEAD') lines.push('Content-Length: 4711');
  if (framing === 'chunked') lines.push('Transfer-Encoding: chunked');
  lines.push(`X-Chaos-Note: an odd; value, of ${id}`);
  return lines;
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
  const values = Array.from({ length: answer.values }, (_, i) => ({
    channel: `/d2/object/P.Chaos${i}`,
    data: { value: i, call: id },
  }));
  const message = { channel: '/meta/connect', clientId: clientIdOf(id), id, successful: true };
  return padded(seed, `${id}/answer`, [...values, message], answer.bytes);
}

/** The messages as JSON of exactly `bytes` bytes, padded by a pattern in the last one's `ext`. */
function padded(seed: number, label: string, messages: readonly object[], bytes: number): Buffer {
  const toJson = (noise: string) =>
    JSON.stringify(
      messages.map((message, i) => (i === messages.length - 1 ? { ...message, ext: { noise } } : message)),
    );
  const missing = bytes - toJson('').length;
  if (missing < 0) throw new Error(`${label}: ${bytes} bytes are too few`);
  return Buffer.from(toJson(patternOf(seed, label, missing).toString('hex').slice(0, missing)), 'latin1');
}

function toHead(lines: readonly string[], isLast: boolean): string {
  return `${[...lines, ...(isLast ? ['Connection: close'] : [])].join('\r\n')}\r\n\r\n`;
}

/** A part of a body as it is sent. */
export function toWire(framing: CallPlan['answer']['framing'], payload: Buffer): Buffer {
  if (framing !== 'chunked') return payload;
  if (payload.length === 0) return payload;
  return Buffer.concat([
    Buffer.from(`${payload.length.toString(16)}\r\n`, 'latin1'),
    payload,
    Buffer.from('\r\n', 'latin1'),
  ]);
}

/** The end of a body as it is sent. */
export function toWireEnd(framing: CallPlan['answer']['framing'], id: string, hasTrailer: boolean): Buffer {
  if (framing !== 'chunked') return Buffer.alloc(0);
  return Buffer.from(`0\r\n${hasTrailer ? `${TRAILER}: ${id}\r\n` : ''}\r\n`, 'latin1');
}

/** The pieces in which a body is sent; `pieceBytes` 0: one. */
export function piecesOf(body: Buffer, pieceBytes: number): Buffer[] {
  // A large body in tiny pieces would take longer than the run.
  const size = pieceBytes === 0 ? body.length : Math.max(pieceBytes, Math.ceil(body.length / 40));
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) pieces.push(body.subarray(at, at + size));
  return pieces;
}
