/** Heads of requests, followed by their body. */
import { ATTACKER_CREDENTIAL, COMET_PATH } from '../plant.ts';

export type Fields = Readonly<Record<string, string | number>>;

/** The fields by which the upstream recognises the attacker. */
export const KNOWN: Fields = { Authorization: ATTACKER_CREDENTIAL };

/** The monitoring port accepts only its own address as Host. */
export function toHead(startLine: string, fields: Fields = {}): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${startLine} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n`;
}

export function toPost(path: string, body: Uint8Array, fields: Fields = {}): Buffer {
  return Buffer.concat([Buffer.from(toHead(`POST ${path}`, { ...fields, 'Content-Length': body.length })), body]);
}

/** A POST to the Comet endpoint. */
export function toCometPost(body: Uint8Array, fields: Fields = {}): Buffer {
  return toPost(COMET_PATH, body, { 'Content-Type': 'application/json', ...fields });
}
