import type { Socket } from 'node:net';
import type { ResponseReader } from '../../protocol/http1/response-reader.ts';
import { resetConnection } from '../../tls/connection-end.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { UpstreamConnection, UpstreamListener } from '../upstream/upstream-connection.ts';
import type { ClientLink, RelayServices } from './client-link.ts';
import { keepAlive } from './silence-watch.ts';
import { SocketWriter, type WriterOwner } from './write-batch.ts';

/** How long an upstream may take to close an ending connection, after the last byte was sent. */
const END_LIMIT_MS = 2_000;

/** Must call `setFull(false)` at `onUpstreamDrain`, and `drop` at `onUpstreamClosed`. */
export interface UpstreamLinkListener extends UpstreamListener {
  /** `UpstreamLink.isFull` has changed. */
  updateReading(): void;
}

interface Connection {
  readonly upstream: UpstreamConnection;
  readonly writer: SocketWriter;
  isKeptAlive: boolean;
}

/** The upstream's side of a relayed connection. Dials when there is something to send; no socket after its end. */
export class UpstreamLink {
  readonly #services: RelayServices;
  readonly #listener: UpstreamLinkListener;
  readonly #client: ClientLink;
  readonly #response: ResponseReader;
  #connection: Connection | undefined;
  /** A socket that `endAfterRest` ends and that has not closed yet. */
  #ending: Socket | undefined;
  /** The socket's buffer is full until its 'drain'. */
  isFull = false;

  constructor(services: RelayServices, listener: UpstreamLinkListener, client: ClientLink, response: ResponseReader) {
    this.#services = services;
    this.#listener = listener;
    this.#client = client;
    this.#response = response;
  }

  get isOpen(): boolean {
    return this.#connection !== undefined;
  }

  /** Connects first if necessary. Parameters are those of `SocketWriter`. */
  send(bytes: Buffer | string, sinceNs = 0, buffer?: ReadBuffer): void {
    this.#connection ??= this.#connect();
    const { writer } = this.#connection;
    if (typeof bytes === 'string') writer.writeSoon(bytes, sinceNs);
    else if (!writer.write(bytes, sinceNs, buffer)) this.setFull(true);
  }

  #connect(): Connection {
    const upstream = this.#services.upstream.connect(this.#listener);
    const response = this.#response;
    const owner: WriterOwner = {
      keptBytes: () => response.keptBytes,
      onFull: () => this.setFull(true),
      onStalledTooLong: () => {
        if (upstream === this.#connection?.upstream) this.#client.onStalledTooLong();
        else upstream.socket.destroy();
      },
    };
    const { added } = this.#services.reporter;
    const writer = new SocketWriter(upstream.socket, this.#services, added.request, owner);
    return { upstream, writer, isKeptAlive: false };
  }

  flush(): void {
    this.#connection?.writer.flush();
  }

  end(): void {
    this.flush();
    this.#connection?.upstream.socket.end();
  }

  check(): void {
    if (this.#connection === undefined) return;
    const { upstream, writer, isKeptAlive } = this.#connection;
    // A connect may go on to another address, with another handle.
    if (!isKeptAlive && !upstream.socket.connecting) {
      keepAlive(upstream.socket);
      this.#connection.isKeptAlive = true;
    }
    writer.queued.check();
  }

  pause(): void {
    this.#connection?.upstream.socket.pause();
  }

  resume(): void {
    this.#connection?.upstream.socket.resume();
  }

  /** Closes the connection at once, by a reset if `isReset`. Deferred text is lost. */
  drop(isReset: boolean): void {
    const socket = this.#leave()?.upstream.socket;
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
    connection?.upstream.leave();
    connection?.writer.clear();
    connection?.writer.queued.release();
    if (this.isFull) this.setFull(false);
    return connection;
  }

  /** Ends the connection once the rest is sent, or at any byte of the upstream; destroys one that still ends. */
  endAfterRest(): void {
    this.flush();
    const connection = this.#leave();
    if (connection === undefined) return;
    const { upstream, writer } = connection;
    const { socket } = upstream;
    this.#ending?.destroy();
    this.#ending = socket;
    socket.end(() => socket.setTimeout(END_LIMIT_MS, () => socket.destroy()));
    socket.resume();
    // An upstream that never reads the rest would keep it in memory for ever: the memory limit prevents that.
    if (socket.writableLength === 0) return;
    writer.queued.check();
    socket.once('close', () => writer.queued.release());
  }

  setFull(isFull: boolean): void {
    this.isFull = isFull;
    this.#connection?.writer.queued.check();
    this.#listener.updateReading();
  }
}
