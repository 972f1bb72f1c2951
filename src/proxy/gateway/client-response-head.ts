import type { IncomingMessage } from 'node:http';
import { UpstreamFailure } from '../exchange/upstream-failure.ts';
import { forEachField, hasField, isChunked, listOf, type RawFields, toLines } from './raw-fields.ts';

export interface ResponseHeadContext {
  readonly isHead: boolean;
  /** The client speaks HTTP/1.0. */
  readonly isVersion10: boolean;
  /** The client's connection ends after this response, and the response says so. */
  readonly isLast: boolean;
  /** The client still waits for its 100: Node would end the connection unless the fields say otherwise. */
  readonly isContinueDue: boolean;
}

/** A response's fields for the client, flat like `rawHeaders`, and how its body ends there. */
export interface ClientResponseHead {
  readonly fields: string[];
  /** Only the end of the connection ends the body, so a failure must not look like an orderly end. */
  readonly isUntilClose: boolean;
  readonly isChunked: boolean;
}

/** Statuses without a body, whatever the fields say (RFC 9110 §6.4.1). */
const BODILESS: ReadonlySet<number> = new Set([204, 304]);

/** The final status, 200 to 999. Throws `D2S_ERR_UPSTREAM_PROTOCOL` below: Node allows 099, or 101 without Upgrade. */
export function toFinalStatus(upstream: IncomingMessage): number {
  const { statusCode = 0 } = upstream;
  if (statusCode < 200) throw new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL');
  return statusCode;
}

export function toClientHead(upstream: IncomingMessage, context: ResponseHeadContext): ClientResponseHead {
  const raw = upstream.rawHeaders;
  const hasBody = !context.isHead && !BODILESS.has(upstream.statusCode ?? 0);
  const hasCoding = hasField(raw, 'transfer-encoding');
  const canChunk = isChunked(raw) && !context.isVersion10;
  const isUntilClose = hasBody && !canChunk && (hasCoding || !hasField(raw, 'content-length'));
  const removed = new Set<string>();
  if (!canChunk) removed.add('trailer');
  if (BODILESS.has(upstream.statusCode ?? 0)) removed.add('transfer-encoding').add('trailer');
  if (context.isVersion10) {
    // HTTP/1.0 has no chunks, and Node decides whether the connection stays open.
    for (const name of ['transfer-encoding', 'connection', 'keep-alive']) removed.add(name);
  }
  const isLast = context.isLast || (isUntilClose && hasCoding && !context.isVersion10);
  const fields = toFields(raw, removed, isLast);
  if (context.isContinueDue && !isLast && upstream.httpVersionMinor === 1 && !hasField(raw, 'connection')) {
    fields.push('Connection', 'keep-alive');
  }
  return { fields, isUntilClose, isChunked: hasBody && canChunk };
}

/**
 * An interim response as bytes, e.g. a 103 with its Link fields. Node's own `writeEarlyHints` accepts Link only in one
 * form, and `writeProcessing` accepts no fields at all.
 */
export function toInterimBytes(interim: {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly rawHeaders: readonly string[];
}): Buffer {
  const head = `HTTP/1.1 ${interim.statusCode} ${interim.statusMessage}\r\n${toLines(interim.rawHeaders)}\r\n`;
  return Buffer.from(head, 'latin1');
}

/** The flat fields without `removed`. A last response gets `Connection: close` with the other options of Connection. */
function toFields(raw: RawFields, removed: ReadonlySet<string>, isLast: boolean): string[] {
  const fields: string[] = [];
  let length: string[] = [];
  const isLengthLast = hasField(raw, 'content-disposition');
  forEachField(raw, (lowerName, value, name) => {
    if (removed.has(lowerName)) return;
    if (isLast && (lowerName === 'connection' || lowerName === 'keep-alive')) return;
    // Node re-encodes Content-Disposition, and so changes its bytes, when Content-Length precedes it.
    if (isLengthLast && lowerName === 'content-length') length = [name, value];
    else fields.push(name, value);
  });
  fields.push(...length);
  if (isLast) fields.push('Connection', ['close', ...otherOptions(raw)].join(', '));
  return fields;
}

function otherOptions(raw: RawFields): readonly string[] {
  return listOf(raw, 'connection').filter((option) => option !== 'close' && option !== 'keep-alive');
}
