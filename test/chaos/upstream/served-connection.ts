import type net from 'node:net';
import { BodySeen, fieldOf, type Head, MessageReader } from '../../system/wire/message-reader.ts';
import { planCall } from '../truth/call-plan.ts';
import type { Ledger } from '../truth/ledger.ts';
import { ID_FIELD, linesWithout, requestLines } from '../truth/messages.ts';
import { planSocket, socketRequestLines } from '../truth/socket-plan.ts';
import { ServedCall } from './served-call.ts';
import { serveSocket } from './served-socket.ts';

/** Serves a connection; the result tells the id of its last call, e.g. `r17`, and its progress. */
export function serveConnection(socket: net.Socket, seed: number, ledger: Ledger): () => string {
  let call: ServedCall | undefined;
  let onFrames: ((chunk: Buffer) => void) | undefined;
  let isTunnel = false;
  let id = '-';
  /** Its messages are at most the current one. */
  const requests = new MessageReader({ kind: 'request', createBody: begin, onProgress });

  function begin(head: Head): BodySeen {
    read();
    requests.messages.length = 0;
    id = fieldOf(head, ID_FIELD) ?? '';
    if (!/^[rps]\d+$/.test(id)) throw new Error(`a request without a known id: ${head.startLine}`);
    ledger.note('S', id);
    const isSocket = id.startsWith('s');
    const lines = isSocket ? socketRequestLines(planSocket(seed, id)) : requestLines(planCall(seed, id));
    const wrong = whatIsWrong(head, lines);
    if (wrong !== undefined) ledger.note('W', id, wrong);
    call = isSocket ? undefined : new ServedCall(socket, seed, ledger, id);
    if (isSocket) onFrames = serveSocket(socket, seed, ledger, id, head);
    return call?.body ?? new BodySeen();
  }

  function read(): void {
    const [request] = requests.messages;
    if (request !== undefined) call?.onRead(request);
  }

  function onProgress(): void {
    read();
    const { problem, tunnel } = requests;
    if (problem !== undefined) foundWrong(problem);
    if (onFrames === undefined) return;
    if (!isTunnel) {
      isTunnel = true;
      requests.resume('tunnel');
      return;
    }
    requests.tunnel = '';
    try {
      onFrames(Buffer.from(tunnel, 'latin1'));
    } catch (cause) {
      foundWrong((cause as Error).message);
    }
  }

  function foundWrong(what: string): void {
    ledger.note('W', id, what);
    socket.destroy();
  }

  socket.on('data', (chunk) => requests.push(chunk));
  // Both sides have ended, unless an answer is in flight: that ends the connection itself.
  socket.on('end', () => {
    if (!call?.isAnswering) socket.end();
  });
  return () => {
    const isRead = requests.messages.every(({ isComplete }) => isComplete);
    const parts = [id, isRead ? '' : 'not read to its end', call?.isAnswering ? 'being answered' : ''];
    if (socket.readableEnded) parts.push('its client has closed');
    if (socket.writableLength > 0) parts.push(`${socket.writableLength} bytes unsent`);
    return parts.filter((part) => part !== '').join(', ');
  };
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
