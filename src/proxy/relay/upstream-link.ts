import type { Socket } from 'node:net';
import { resetConnection } from '../../tls/connection-end.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { UpstreamConnection, UpstreamListener } from '../upstream/upstream-connection.ts';
import type { RelayServices } from './relay-services.ts';
import { keepAlive } from './silence-watch.ts';
import { SocketWriter, type WriterOwner } from './write-batch.ts';

/** How long an upstream may take to close an ending connection, after the last byte was sent. */
const END_LIMIT_MS = 2_000;

export interface UpstreamLinkListener extends UpstreamListener {
  /** Of an answer whose head is incomplete. */
  readonly keptBytes: number;
  /** `UpstreamLink.isFull` has changed. */
  onUpstreamFullChange(): void;
  onStalledTooLong(): void;
}

interface Connection {
  readonly upstream: UpstreamConnection;
  readonly socket: Socket;
  readonly writer: SocketWriter;
}

/**
 * The upstream's side of a relayed connection. It connects when there is something to send, and has no socket after the
 * end or a drop. The listener gets each event with its socket, since a dropped socket may still emit some.
 */
export class UpstreamLink {
  readonly #services: RelayServices;
  readonly #listener: UpstreamLinkListener;
  #connection: Connection | undefined;
  /** A socket that `endAfterRest` ends and that has not closed yet. */
  #ending: Socket | undefined;
  /** The socket's buffer is full until its 'drain'. */
  isFull = false;

  constructor(services: RelayServices, listener: UpstreamLinkListener) {
    this.#services = services;
    this.#listener = listener;
  }

  get isOpen(): boolean {
    return this.#connection !== undefined;
  }

  /** False for an earlier connection that was dropped. */
  is(socket: Socket): boolean {
    return socket === this.#connection?.socket;
  }

  /** Connects first if necessary. Parameters are those of `SocketWriter`. */
  send(bytes: Buffer | string, sinceNs = 0, buffer?: ReadBuffer): void {
    this.#connection ??= this.#connect();
    const { writer } = this.#connection;
    if (typeof bytes === 'string') writer.writeSoon(bytes, sinceNs);
    else if (!writer.write(bytes, sinceNs, buffer)) this.#setFull(true);
  }

  #connect(): Connection {
    const upstream = this.#services.upstream.connect(this.#listener);
    const { socket } = upstream;
    const listener = this.#listener;
    const owner: WriterOwner = {
      get keptBytes() {
        return listener.keptBytes;
      },
      onFull: () => this.#setFull(true),
      onStalledTooLong: () => {
        if (this.is(socket)) listener.onStalledTooLong();
        else socket.destroy();
      },
    };
    const { added } = this.#services.reporter;
    return { upstream, socket, writer: new SocketWriter(socket, this.#services, added.request, owner) };
  }

  flush(): void {
    this.#connection?.writer.flush();
  }

  end(): void {
    this.flush();
    this.#connection?.socket.end();
  }

  /** Called every few seconds. */
  look(): void {
    if (this.#connection === undefined) return;
    keepAlive(this.#connection.socket);
    this.#connection.writer.queued.check();
  }

  pause(): void {
    this.#connection?.socket.pause();
  }

  resume(): void {
    this.#connection?.socket.resume();
  }

  /** Closes the connection at once, by a reset if `isReset`. Deferred text is lost. */
  drop(isReset: boolean): void {
    const socket = this.#leave()?.socket;
    if (socket === undefined) return;
    // A reset of a connecting socket would wait until it is connected.
    if (isReset && !socket.connecting) resetConnection(socket);
    else socket.destroy();
  }

  /** Gives the connection to a new owner; undefined without one that can serve another request. */
  release(): UpstreamConnection | undefined {
    if (this.#connection?.upstream.isUsable === true) return this.#leave()?.upstream;
    this.drop(false);
    return undefined;
  }

  #leave(): Connection | undefined {
    const connection = this.#connection;
    this.#connection = undefined;
    connection?.writer.clear();
    connection?.writer.queued.release();
    if (this.isFull) this.#setFull(false);
    return connection;
  }

  /**
   * Ends the connection after the remaining bytes are sent. Nothing that it receives is read any more: the listener
   * destroys a connection that still sends. Only one may be ending: an earlier one is destroyed.
   */
  endAfterRest(): void {
    this.flush();
    const connection = this.#leave();
    if (connection === undefined) return;
    const { socket, writer } = connection;
    this.#ending?.destroy();
    this.#ending = socket;
    socket.end(() => socket.setTimeout(END_LIMIT_MS, () => socket.destroy()));
    socket.resume();
    // An upstream that never reads the rest would keep it in memory for ever: the memory limit prevents that.
    if (socket.writableLength === 0) return;
    writer.queued.check();
    socket.once('close', () => writer.queued.release());
  }

  onDrain(): void {
    this.#setFull(false);
  }

  #setFull(isFull: boolean): void {
    this.isFull = isFull;
    this.#connection?.writer.queued.check();
    this.#listener.onUpstreamFullChange();
  }
}
