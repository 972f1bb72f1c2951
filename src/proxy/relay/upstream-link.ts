import type { Socket } from 'node:net';
import type { StalledWrites, StallingConnection } from '../../limits/stalled-writes.ts';
import { resetConnection } from '../../tls/reset.ts';
import type { AddedTime } from '../exchange/added-time.ts';
import type { ReadBuffer } from '../upstream/read-buffer.ts';
import type { Upstream, UpstreamListener } from '../upstream/upstream.ts';
import type { RelayServices } from './relay-context.ts';
import { DeferredWriter } from './write-batch.ts';

/** How long an upstream may take to close a connection that was let go, once everything is sent. */
const LINGER_MS = 2_000;

/**
 * The upstream's side of a relayed connection: none until there is something to send, and again none when it has ended or was
 * dropped. What the sockets say comes to the `UpstreamListener`, with the socket, since one that was dropped may still speak.
 */
export class UpstreamLink {
  readonly #upstream: Upstream;
  readonly #listener: UpstreamListener;
  readonly #onFullChange: () => void;
  readonly #added: AddedTime;
  readonly #writer: DeferredWriter;
  readonly #stalled: StalledWrites;
  #socket: Socket | undefined;
  /** One that was let go, and has not closed yet. */
  #leaving: Socket | undefined;
  /** It takes no more for now. */
  isFull = false;

  /** `onFullChange`: `isFull` is another. */
  constructor(services: RelayServices, listener: UpstreamListener, onFullChange: () => void) {
    this.#upstream = services.upstream;
    this.#stalled = services.stalled;
    this.#listener = listener;
    this.#onFullChange = onFullChange;
    this.#added = services.reporter.added.request;
    this.#writer = new DeferredWriter(services.writes, this.#added, this.#onFull);
  }

  get isOpen(): boolean {
    return this.#socket !== undefined;
  }

  /** Of the connection of now. */
  get unsentBytes(): number {
    return this.#socket?.writableLength ?? 0;
  }

  get sentBytes(): number {
    return this.#socket === undefined ? 0 : this.#socket.bytesWritten - this.#socket.writableLength;
  }

  /** Whether `socket` is the connection of now, and not one that was dropped before, while another may be at work. */
  is(socket: Socket): boolean {
    return socket === this.#socket;
  }

  /**
   * Text, which is latin1 and should be short, goes at the end of this turn; opens a connection where there is none. `sinceNs`:
   * what `AddedTime.sample` gave for it; `buffer`: the one that `bytes` are in, if not their own.
   */
  send(bytes: Buffer | string, sinceNs = 0, buffer?: ReadBuffer): void {
    this.#socket ??= this.#upstream.connect(this.#listener);
    if (typeof bytes === 'string') {
      this.#writer.write(this.#socket, bytes, sinceNs);
      return;
    }
    this.#writer.flush();
    const takesMore = buffer === undefined ? this.#socket.write(bytes) : buffer.pass(bytes, this.#socket);
    this.#added.written(sinceNs);
    if (!takesMore) this.#onFull();
  }

  /** Sends now what waits. */
  flush(): void {
    this.#writer.flush();
  }

  /** Ends our side behind what was sent. */
  end(): void {
    this.#writer.flush();
    this.#socket?.end();
  }

  pause(): void {
    this.#socket?.pause();
  }

  resume(): void {
    this.#socket?.resume();
  }

  /** Goes away from the connection, without a word or by a reset. */
  drop(isReset: boolean): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#socket = undefined;
    this.#writer.clear();
    // One that is still connecting would wait for that before it resets.
    if (isReset && !socket.connecting) resetConnection(socket);
    else socket.destroy();
    if (this.isFull) this.onDrain();
  }

  /**
   * Ends the connection after what is still to be sent; nothing that it says is read any more. At most one is leaving at a time:
   * an earlier one is destroyed.
   */
  letGo(): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    this.#writer.flush();
    this.#socket = undefined;
    this.#leaving?.destroy();
    this.#leaving = socket;
    socket.end(() => socket.setTimeout(LINGER_MS, () => socket.destroy()));
    socket.resume();
    this.#watchLeaving(socket);
    if (this.isFull) this.onDrain();
  }

  /** An upstream that never reads the rest of a body would keep it in memory for ever. */
  #watchLeaving(socket: Socket): void {
    if (socket.writableLength === 0) return;
    const leaving: StallingConnection = {
      get stalledBytes() {
        return socket.destroyed ? 0 : socket.writableLength;
      },
      get sentBytes() {
        return socket.bytesWritten - socket.writableLength;
      },
      onStalledTooLong: () => socket.destroy(),
    };
    this.#stalled.look(leaving);
    socket.once('close', () => this.#stalled.remove(leaving));
  }

  /** To be called when the connection of now takes more again. */
  onDrain(): void {
    this.isFull = false;
    this.#onFullChange();
  }

  readonly #onFull = (): void => {
    this.isFull = true;
    this.#onFullChange();
  };
}
