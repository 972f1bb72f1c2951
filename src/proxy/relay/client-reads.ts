import net, { type Socket } from 'node:net';
import { ReadBuffer, type ReadBuffers } from '../upstream/read-buffer.ts';

/** `bytes` are valid only during the call: the next read reuses the memory. `buffer` writes them to another socket. */
export type ReadListener = (bytes: Buffer, buffer: ReadBuffer) => void;

/** Undocumented fields of a socket in Node 20 and 26; test/system/proxy/relay/client-reads.test.ts would notice their loss. */
interface Accepted {
  _handle: { readonly useUserBuffer?: unknown } | null;
  _server: net.Server | null;
  server: net.Server | null;
}

/**
 * Reads a client's connection into our own buffers. A stream allocates 64 KB for each read, cuts it to the bytes that
 * came, and leaves that to the garbage collector: a tenth of the processor time of a small call. Node's `onread` option
 * avoids this, but only for outgoing sockets. So we move the handle of an accepted socket into a new socket that has
 * `onread`.
 */
export class ClientReads {
  /** Replaces the accepted socket. */
  readonly socket: Socket;
  /** Without a listener, the socket is an ordinary stream. */
  listener: ReadListener | undefined;
  readonly #buffer: ReadBuffer;

  private constructor(accepted: Socket, buffers: ReadBuffers) {
    this.#buffer = new ReadBuffer(buffers);
    const { _handle: handle } = accepted as unknown as Accepted;
    const onread = { buffer: this.#buffer.next, callback: this.#onRead };
    const options = { handle, onread, allowHalfOpen: accepted.allowHalfOpen, readable: true, writable: true };
    this.socket = new net.Socket(options);
  }

  /**
   * Takes over a socket that was accepted in this turn and has no listeners; it must not be used afterwards. Undefined,
   * with nothing changed, if this Node lacks the internals; then the socket has to be read as a stream.
   */
  static takeOver(accepted: Socket, buffers: ReadBuffers): ClientReads | undefined {
    const from = accepted as unknown as Accepted;
    const { _handle: handle, _server: server } = from;
    if (typeof handle?.useUserBuffer !== 'function' || !(server instanceof net.Server)) return undefined;
    const reads = new ClientReads(accepted, buffers);
    const to = reads.socket as unknown as Accepted;
    if (to._handle !== handle) return undefined;
    // The server counts its open connections: the new socket's close must decrement the count.
    to._server = server;
    to.server = server;
    from._handle = null;
    from._server = null;
    return reads;
  }

  readonly #onRead = (length: number, memory: Uint8Array): boolean => {
    const bytes = (memory as Buffer).subarray(0, length);
    if (this.listener === undefined) {
      return this.socket.push(Buffer.from(bytes)) && this.#buffer.hasTurn(length, this.socket);
    }
    this.listener(bytes, this.#buffer);
    this.#buffer.onRead(length);
    return this.#buffer.hasTurn(length, this.socket);
  };
}
