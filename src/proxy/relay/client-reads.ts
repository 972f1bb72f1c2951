import net, { type Socket } from 'node:net';
import { ReadBuffer, type ReadBuffers } from '../upstream/read-buffer.ts';

/** `bytes` are valid only during the call: the next read reuses the memory. `buffer` writes them to another socket. */
export type ReadListener = (bytes: Buffer, buffer: ReadBuffer) => void;

/**
 * Fields of a socket of Node 20 and 26, undocumented; test/system/proxy/relay/client-reads.test.ts would notice their
 * loss.
 */
type SocketInternals = Record<symbol, unknown> & {
  _handle: { readonly useUserBuffer?: (buffer: Buffer) => void } | null;
};

interface OnreadFields {
  readonly buffer: symbol;
  readonly nextBuffer: symbol;
  readonly callback: symbol;
}

/** Where Node keeps the option `onread` of a socket; undefined if this Node keeps it elsewhere. */
const ONREAD_FIELDS = findOnreadFields();

function findOnreadFields(): OnreadFields | undefined {
  const symbols = Object.getOwnPropertySymbols(new net.Socket());
  const [buffer, nextBuffer, callback] = ['kBuffer', 'kBufferGen', 'kBufferCb'].map((name) =>
    symbols.find(({ description }) => description === name),
  );
  if (buffer === undefined || nextBuffer === undefined || callback === undefined) return undefined;
  return { buffer, nextBuffer, callback };
}

/**
 * Reads a client's connection into our own buffers. A stream allocates 64 KB for each read, trims it to the received
 * bytes, and leaves them to the garbage collector: a tenth of the processor time of a small call. Node's `onread`
 * option avoids this, but only for outgoing sockets. So we set on an accepted socket what that option sets.
 */
export class ClientReads {
  readonly socket: Socket;
  /** Without a listener, the socket is an ordinary stream. */
  listener: ReadListener | undefined;
  readonly #buffer: ReadBuffer;

  private constructor(accepted: Socket, buffers: ReadBuffers) {
    this.socket = accepted;
    this.#buffer = new ReadBuffer(buffers);
  }

  /**
   * For a socket that was accepted in this turn and has no listeners. Undefined, with nothing changed, if this Node
   * lacks the internals; then the socket has to be read as a stream.
   */
  static of(accepted: Socket, buffers: ReadBuffers): ClientReads | undefined {
    const socket = accepted as unknown as SocketInternals;
    const { _handle: handle } = socket;
    if (ONREAD_FIELDS === undefined || typeof handle?.useUserBuffer !== 'function') return undefined;
    const reads = new ClientReads(accepted, buffers);
    const first = reads.#buffer.next();
    socket[ONREAD_FIELDS.buffer] = first;
    socket[ONREAD_FIELDS.nextBuffer] = reads.#buffer.next;
    socket[ONREAD_FIELDS.callback] = reads.#onRead;
    handle.useUserBuffer(first);
    accepted.once('close', reads.#buffer.release);
    return reads;
  }

  readonly #onRead = (length: number, memory: Uint8Array): boolean => {
    const bytes = (memory as Buffer).subarray(0, length);
    if (this.listener === undefined) {
      return this.socket.push(Buffer.from(bytes)) && this.#buffer.mayReadOn(length, this.socket);
    }
    this.listener(bytes, this.#buffer);
    this.#buffer.onRead(length);
    return this.#buffer.mayReadOn(length, this.socket);
  };
}
