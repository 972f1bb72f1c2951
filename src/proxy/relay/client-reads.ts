import net, { type Socket } from 'node:net';
import { ReadBuffer, type ReadBuffers } from '../upstream/read-buffer.ts';

/** `bytes` are only valid during the call: the memory is used again for the next read, so `buffer` writes them to other sockets. */
export type ReadListener = (bytes: Buffer, buffer: ReadBuffer) => void;

/** What Node keeps in an accepted socket: undocumented; so it is in Node 20 and 26, where test/proxy/relay/client-reads.test.ts would miss it. */
interface Accepted {
  _handle: { readonly useUserBuffer?: unknown } | null;
  _server: net.Server | null;
  server: net.Server | null;
}

/**
 * Reads of a client's connection into buffers of ours. A stream takes 64 KB from the system for each read, cuts them to what has
 * come, and leaves that to the garbage collector: a tenth of the processor time of a small call. Node has a way around that
 * (`onread`), but only for sockets that dial. So an accepted one gives what it has to one that was made like that.
 */
export class ClientReads {
  /** In place of the accepted one. */
  readonly socket: Socket;
  /** Who reads. While there is nobody, the socket is a stream like any other. */
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
   * Of a socket that has been accepted in this turn, and that nobody listens to: it is of no use afterwards. Undefined, and nothing
   * is changed, where Node does not have what is needed for it; then it has to be read as a stream.
   */
  static takeOver(accepted: Socket, buffers: ReadBuffers): ClientReads | undefined {
    const from = accepted as unknown as Accepted;
    const { _handle: handle, _server: server } = from;
    if (typeof handle?.useUserBuffer !== 'function' || !(server instanceof net.Server)) return undefined;
    const reads = new ClientReads(accepted, buffers);
    const to = reads.socket as unknown as Accepted;
    if (to._handle !== handle) return undefined;
    // With the server goes its count of open connections, which is one less when the socket closes.
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
