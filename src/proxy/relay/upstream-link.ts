import type { Socket } from 'node:net';
import type { StalledWrites, StallingConnection } from '../../limits/stalled-writes.ts';
import { resetConnection } from '../../tls/connection-end.ts';
import type { AddedTime } from '../exchange/added-time.ts';
import { keepAlive } from '../upstream/keep-alive.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { Upstream } from '../upstream/upstream.ts';
import type { UpstreamConnection, UpstreamListener } from '../upstream/upstream-connection.ts';
import type { RelayServices } from './relay-services.ts';
import { DeferredWriter } from './write-batch.ts';

/** How long an upstream may take to close an ending connection, after the last byte was sent. */
const END_LIMIT_MS = 2_000;

/**
 * The upstream's side of a relayed connection. It connects when there is something to send, and has no socket after the
 * end or a drop. The `UpstreamListener` gets each event with its socket, since a dropped socket may still emit some.
 */
export class UpstreamLink {
  readonly #upstream: Upstream;
  readonly #listener: UpstreamListener;
  readonly #onFullChange: () => void;
  readonly #added: AddedTime;
  readonly #writer: DeferredWriter;
  readonly #stalled: StalledWrites;
  #connection: UpstreamConnection | undefined;
  /** A socket that `endAfterRest` ends and that has not closed yet. */
  #ending: Socket | undefined;
  /** The socket's buffer is full until its 'drain'. */
  isFull = false;

  constructor(services: RelayServices, listener: UpstreamListener, onFullChange: () => void) {
    this.#upstream = services.upstream;
    this.#stalled = services.stalled;
    this.#listener = listener;
    this.#onFullChange = onFullChange;
    this.#added = services.reporter.added.request;
    this.#writer = new DeferredWriter(services.writes, this.#added, this.#onFull);
  }

  get isOpen(): boolean {
    return this.#connection !== undefined;
  }

  get unsentBytes(): number {
    return this.#connection?.socket.writableLength ?? 0;
  }

  get sentBytes(): number {
    const socket = this.#connection?.socket;
    return socket === undefined ? 0 : socket.bytesWritten - socket.writableLength;
  }

  /** False for an earlier connection that was dropped. */
  is(socket: Socket): boolean {
    return socket === this.#connection?.socket;
  }

  /**
   * Sends `bytes`, and connects first if necessary. Text is latin1, should be short, and is sent at the end of this
   * turn. `sinceNs` comes from `AddedTime.sample`. `buffer` is the shared buffer that holds `bytes`, if any.
   */
  send(bytes: Buffer | string, sinceNs = 0, buffer?: ReadBuffer): void {
    this.#connection ??= this.#upstream.connect(this.#listener);
    const { socket } = this.#connection;
    if (typeof bytes === 'string') {
      this.#writer.write(socket, bytes, sinceNs);
      return;
    }
    this.#writer.flush();
    const takesMore = buffer === undefined ? socket.write(bytes) : buffer.pass(bytes, socket);
    this.#added.written(sinceNs);
    if (!takesMore) this.#onFull();
  }

  flush(): void {
    this.#writer.flush();
  }

  end(): void {
    this.#writer.flush();
    this.#connection?.socket.end();
  }

  keepAlive(): void {
    if (this.#connection !== undefined) keepAlive(this.#connection.socket);
  }

  pause(): void {
    this.#connection?.socket.pause();
  }

  resume(): void {
    this.#connection?.socket.resume();
  }

  /** Closes the connection at once, by a reset if `isReset`. Deferred text is lost. */
  drop(isReset: boolean): void {
    const socket = this.#connection?.socket;
    if (socket === undefined) return;
    this.#connection = undefined;
    this.#writer.clear();
    // A reset of a connecting socket would wait until it is connected.
    if (isReset && !socket.connecting) resetConnection(socket);
    else socket.destroy();
    if (this.isFull) this.onDrain();
  }

  /** Gives the connection to a new owner; undefined without one that can serve another request. */
  release(): UpstreamConnection | undefined {
    const connection = this.#connection;
    if (connection?.isUsable !== true) {
      this.drop(false);
      return undefined;
    }
    this.#connection = undefined;
    return connection;
  }

  /**
   * Ends the connection after the remaining bytes are sent. Nothing that it receives is read any more: the listener
   * destroys a connection that still sends. Only one may be ending: an earlier one is destroyed.
   */
  endAfterRest(): void {
    const socket = this.#connection?.socket;
    if (socket === undefined) return;
    this.#writer.flush();
    this.#connection = undefined;
    this.#ending?.destroy();
    this.#ending = socket;
    socket.end(() => socket.setTimeout(END_LIMIT_MS, () => socket.destroy()));
    socket.resume();
    this.#watchEnding(socket);
    if (this.isFull) this.onDrain();
  }

  /**
   * An upstream that never reads the rest of a body would keep it in memory for ever: the memory limit prevents that.
   */
  #watchEnding(socket: Socket): void {
    if (socket.writableLength === 0) return;
    const ending: StallingConnection = {
      get stalledBytes() {
        return socket.destroyed ? 0 : socket.writableLength;
      },
      get sentBytes() {
        return socket.bytesWritten - socket.writableLength;
      },
      onStalledTooLong: () => socket.destroy(),
    };
    this.#stalled.check(ending);
    socket.once('close', () => this.#stalled.remove(ending));
  }

  onDrain(): void {
    this.isFull = false;
    this.#onFullChange();
  }

  readonly #onFull = (): void => {
    this.isFull = true;
    this.#onFullChange();
  };
}
