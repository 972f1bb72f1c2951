import type net from 'node:net';
import { planCall } from '../truth/call-plan.ts';
import { ID_FIELD } from '../truth/messages.ts';
import { planSocket } from '../truth/socket-plan.ts';
import { type Head, HeadReader } from '../wire/heads.ts';
import type { UpstreamParts } from './scripted-upstream.ts';
import { ServedCall } from './served-call.ts';
import { ServedSocket } from './served-socket.ts';

/** The exchange or WebSocket being served on a connection. */
export interface Served {
  /** The head as its client has sent it. */
  readonly requestLines: readonly string[];
  begin(head: Head): void;
  /** Takes bytes, and returns those after its end. Throws for unexpected bytes. */
  onBytes(chunk: Buffer): Buffer;
  /** The request has been read completely, so the next one may follow. */
  readonly isRead: boolean;
  /** An answer is due, or in flight, even if the client has closed its sending side. */
  readonly isAnswering: boolean;
}

/** One connection from the sidecar: request after request, or a WebSocket. */
export class ServedConnection {
  readonly #socket: net.Socket;
  readonly #parts: UpstreamParts;
  readonly #head = new HeadReader();
  #served: Served | undefined;
  #id = '-';

  constructor(socket: net.Socket, parts: UpstreamParts) {
    this.#socket = socket;
    this.#parts = parts;
  }

  get condition(): string {
    const { isRead = true, isAnswering = false } = this.#served ?? {};
    const parts = [this.#id, isRead ? '' : 'not read to its end', isAnswering ? 'being answered' : ''];
    if (this.#socket.readableEnded) parts.push('its client has closed');
    if (this.#socket.writableLength > 0) parts.push(`${this.#socket.writableLength} bytes unsent`);
    return parts.filter((part) => part !== '').join(', ');
  }

  serve(): void {
    this.#socket.on('data', (chunk) => {
      try {
        this.#onBytes(chunk);
      } catch (cause) {
        this.#parts.ledger.note('W', this.#id, (cause as Error).message);
        this.#socket.destroy();
      }
    });
    // Both sides have ended, unless an answer is in flight: that ends the connection itself.
    this.#socket.on('end', () => {
      if (this.#served?.isAnswering !== true) this.#socket.end();
    });
  }

  #onBytes(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#served !== undefined && !this.#served.isRead) {
        rest = this.#served.onBytes(rest);
        continue;
      }
      const read = this.#head.read(rest);
      if (read === undefined) return;
      rest = read.rest;
      this.#begin(read.head);
    }
  }

  #begin(head: Head): void {
    const id = head.field(ID_FIELD) ?? '';
    if (!/^[rpqost]\d+$/.test(id)) throw new Error(`a request without a known id: ${head.startLine}`);
    this.#id = id;
    const { ledger, seed } = this.#parts;
    ledger.note('S', id);
    const served: Served = /^[st]/.test(id)
      ? new ServedSocket(this.#socket, this.#parts, planSocket(seed, id))
      : new ServedCall(this.#socket, this.#parts, planCall(seed, id), () => this.#done(served));
    const wrong = whatIsWrong(head, served.requestLines);
    if (wrong !== undefined) ledger.note('W', id, wrong);
    this.#served = served;
    served.begin(head);
  }

  #done(served: Served): void {
    if (this.#socket.readableEnded) this.#socket.end();
    // An early answer: the body is still coming.
    if (this.#served === served && served.isRead) this.#served = undefined;
  }
}

const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'];

/** Undefined for an unchanged head with the required forwarding fields; otherwise the difference. */
function whatIsWrong(head: Head, expected: readonly string[]): string | undefined {
  const got = head.without(...FORWARDED, 'connection');
  const wanted = expected.filter((line) => !line.startsWith('Connection:'));
  if (got.join('\n') !== wanted.join('\n')) return `an altered head: ${got.join(' | ')}`;
  const values = FORWARDED.map((name) => head.field(name)).join(' ');
  return values === '127.0.0.1 http plant.example' ? undefined : `forwarded for ${values}`;
}
