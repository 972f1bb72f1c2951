/** Heads of HTTP/1.1, written independently of the sidecar's own code. */
import { createHash } from 'node:crypto';

export type Fields = Readonly<Record<string, string | number>>;

/** The monitoring port accepts only its own address as Host. */
export function toHead(startLine: string, fields: Fields = {}): string {
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${startLine} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('')}\r\n`;
}

/** A client's handshake that offers compression. */
export function toUpgrade(path: string): string {
  return toHead(`GET ${path}`, {
    Upgrade: 'websocket',
    Connection: 'Upgrade',
    'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    'Sec-WebSocket-Version': 13,
    'Sec-WebSocket-Extensions': 'permessage-deflate',
  });
}

/** The answer to a handshake; `more`: further fields. */
export function toUpgraded(key: string, ...more: readonly string[]): string {
  const fields = ['Upgrade: websocket', 'Connection: Upgrade', `Sec-WebSocket-Accept: ${acceptOf(key)}`, ...more];
  return `HTTP/1.1 101 Switching Protocols\r\n${fields.join('\r\n')}\r\n\r\n`;
}

/** The answer to the key of a handshake (RFC 6455 section 1.3). */
export function acceptOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}
