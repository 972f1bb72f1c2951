import type net from 'node:net';
import { BodySeen, fieldOf, type Head, MessageReader } from '../../system/wire/message-reader.ts';
import { planCall } from '../truth/call-plan.ts';
import { ID_FIELD, linesWithout } from '../truth/messages.ts';
import { planSocket } from '../truth/socket-plan.ts';
import type { UpstreamParts } from './scripted-upstream.ts';
import { ServedCall } from './served-call.ts';
import { ServedSocket } from './served-socket.ts';

export class ServedConnection {
  readonly #socket: net.Socket;
  readonly #parts: UpstreamParts;
  /** Its messages are at most the current one. */
  readonly #requests = new MessageReader({
    kind: 'request',
    createBody: (head) => this.#begin(head),
    onProgress: () => this.#onProgress(),
  });
  #served: ServedCall | ServedSocket | undefined;
  #isTunnel = false;
  #id = '-';

  constructor(socket: net.Socket, parts: UpstreamParts) {
    this.#socket = socket;
    this.#parts = parts;
  }

  get condition(): string {
    const isRead = this.#requests.messages.every(({ isComplete }) => isComplete);
    const parts = [this.#id, isRead ? '' : 'not read to its end', this.#isAnswering ? 'being answered' : ''];
    if (this.#socket.readableEnded) parts.push('its client has closed');
    if (this.#socket.writableLength > 0) parts.push(`${this.#socket.writableLength} bytes unsent`);
    return parts.filter((part) => part !== '').join(', ');
  }

  get #isAnswering(): boolean {
    return this.#served instanceof ServedCall && this.#served.isAnswering;
  }

  serve(): void {
    this.#socket.on('data', (chunk) => this.#requests.push(chunk));
    // Both sides have ended, unless an answer is in flight: that ends the connection itself.
    this.#socket.on('end', () => {
      if (!this.#isAnswering) this.#socket.end();
    });
  }

  #onProgress(): void {
    this.#read();
    const { problem, tunnel } = this.#requests;
    if (problem !== undefined) this.#foundWrong(problem);
    if (!(this.#served instanceof ServedSocket)) return;
    if (!this.#isTunnel) {
      this.#isTunnel = true;
      this.#requests.resume('tunnel');
      return;
    }
    this.#requests.tunnel = '';
    try {
      this.#served.onBytes(Buffer.from(tunnel, 'latin1'));
    } catch (cause) {
      this.#foundWrong((cause as Error).message);
    }
  }

  #read(): void {
    const [request] = this.#requests.messages;
    if (request !== undefined && this.#served instanceof ServedCall) this.#served.onRead(request);
  }

  #foundWrong(what: string): void {
    this.#parts.ledger.note('W', this.#id, what);
    this.#socket.destroy();
  }

  #begin(head: Head): BodySeen {
    this.#read();
    this.#requests.messages.length = 0;
    const id = fieldOf(head, ID_FIELD) ?? '';
    if (!/^[rpqost]\d+$/.test(id)) throw new Error(`a request without a known id: ${head.startLine}`);
    this.#id = id;
    const { ledger, seed } = this.#parts;
    ledger.note('S', id);
    const served = /^[st]/.test(id)
      ? new ServedSocket(this.#socket, this.#parts, planSocket(seed, id))
      : new ServedCall(this.#socket, this.#parts, planCall(seed, id));
    const wrong = whatIsWrong(head, served.requestLines);
    if (wrong !== undefined) ledger.note('W', id, wrong);
    this.#served = served;
    served.begin(head);
    return served instanceof ServedCall ? served.body : new BodySeen();
  }
}

const FORWARDED = ['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host'];

/** Undefined for an unchanged head with the required forwarding fields; otherwise the difference. */
function whatIsWrong(head: Head, expected: readonly string[]): string | undefined {
  const got = linesWithout(head, ...FORWARDED, 'connection');
  const wanted = expected.filter((line) => !line.startsWith('Connection:'));
  if (got.join('\n') !== wanted.join('\n')) return `an altered head: ${got.join(' | ')}`;
  const values = FORWARDED.map((name) => fieldOf(head, name)).join(' ');
  return values === '127.0.0.1 http plant.example' ? undefined : `forwarded for ${values}`;
}
