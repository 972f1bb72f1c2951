import net, { type Socket } from 'node:net';
import { NS_PER_US } from '../../base/clock.ts';
import type { HeavyWork } from '../../limits/heavy-work.ts';

/**
 * Reads sockets into our own buffers: a stream allocates 64 KB for each read, a tenth of the processor time of a small
 * call. Most reads are small: all connections of a side share one buffer, and forwarding its bytes copies them. A
 * connection that fills it gets one of its own while its reads stay large, forwarded without a copy: copying took a
 * third off the throughput of 1 MB answers.
 */

export const READ_BUFFER_BYTES = 64 * 1024;
/** A smaller read ends a series of large ones. */
const LARGE_READ_BYTES = READ_BUFFER_BYTES / 2;
/**
 * Full reads of one connection per turn of the event loop. libuv reads up to 32 in a row: hundreds of clients that send
 * as fast as they can would keep all others waiting for a second.
 */
const FULL_READS_A_TURN = 2;
/** What these cost about, with the writes that follow. */
const FULL_READS_NS = 150 * NS_PER_US;
/** One turn for all connections of this side. */
const ALL_TOGETHER = '';
/** 16 MB in all: a client may send a large body and then wait for hours. The others copy. */
const MAX_OWN_BUFFERS = 256;
/** Free buffers kept for reuse, 1 MB in all. */
const MAX_FREE_BUFFERS = 16;

export class ReadBuffers {
  readonly #work: HeavyWork | undefined;
  // Reads never overlap: libuv fills the buffer and the callback consumes it before the next read of any socket.
  readonly shared = Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  readonly #free: Buffer[] = [];
  #taken = 0;
  #turn = 0;
  #isTurnEnding = false;

  /** With `work`, the connections of this side take turns while all of them read large bodies. */
  constructor(work?: HeavyWork) {
    this.#work = work;
  }

  get hasTime(): boolean {
    return this.#work?.mayRun ?? true;
  }

  /** Calls `read` in the next turn, or later if many wait. */
  later(read: () => void): void {
    if (this.#work === undefined) setImmediate(read);
    else this.#work.wait(ALL_TOGETHER, FULL_READS_NS, read);
  }

  /** Number of the current turn of the event loop. Counts only turns in which it was read. */
  get turn(): number {
    if (!this.#isTurnEnding) {
      this.#isTurnEnding = true;
      setImmediate(() => {
        this.#isTurnEnding = false;
        this.#turn += 1;
      });
    }
    return this.#turn;
  }

  /** Undefined when too many connections have one. */
  take(): Buffer | undefined {
    if (this.#taken >= MAX_OWN_BUFFERS) return undefined;
    this.#taken += 1;
    return this.replacement();
  }

  /** In place of a buffer that a socket keeps until it has written it. */
  replacement(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(READ_BUFFER_BYTES);
  }

  giveBack(buffer: Buffer): void {
    this.#taken -= 1;
    if (this.#free.length < MAX_FREE_BUFFERS) this.#free.push(buffer);
  }
}

export interface ReadListener {
  /** Gets a read of `length` bytes; `memory` is reused for the next one. False pauses reading until `resume`. */
  onRead(memory: Buffer, length: number, reads: ReadBuffer): boolean;
}

export class ReadBuffer {
  readonly #buffers: ReadBuffers;
  #socket: Socket | undefined;
  #own: Buffer | undefined;
  /** The end of the socket releases the buffer. */
  #isWatched = false;
  #turn = -1;
  #fullReads = 0;
  /**
   * Without one, the socket is an ordinary stream. Not a closure: V8 (Node 26) then copies closed client connections
   * until a full garbage collection.
   */
  listener: ReadListener | undefined;

  constructor(buffers: ReadBuffers) {
    this.#buffers = buffers;
  }

  /**
   * Reads a socket that was accepted in this turn and has no listeners. Node's `onread` is only for outgoing sockets,
   * so this sets what it sets. Undefined, with nothing changed, if this Node lacks the internals: read the socket as a
   * stream.
   */
  static ofAccepted(accepted: Socket, buffers: ReadBuffers): ReadBuffer | undefined {
    const socket = accepted as unknown as SocketInternals;
    const { _handle: handle } = socket;
    if (ONREAD_FIELDS === undefined || typeof handle?.useUserBuffer !== 'function') return undefined;
    const reads = new ReadBuffer(buffers);
    const first = reads.next();
    socket[ONREAD_FIELDS.buffer] = first;
    socket[ONREAD_FIELDS.nextBuffer] = reads.next;
    socket[ONREAD_FIELDS.callback] = reads.onRead;
    handle.useUserBuffer(first);
    reads.use(accepted);
    return reads;
  }

  /** Call it right after the socket was created with `next` and `onRead` as its `onread` option. */
  use(socket: Socket): void {
    this.#socket = socket;
  }

  /** Writes `part` of the last read to `socket`, which may keep it. False, like `write`, when it is full. */
  pass(part: Buffer, socket: Socket): boolean {
    if (this.#own === undefined) return socket.write(Buffer.from(part));
    const canGoOn = socket.write(part);
    // The unsent rest stays in this buffer: the next read needs another one.
    if (socket.writableLength > 0) this.#own = this.#buffers.replacement();
    return canGoOn;
  }

  readonly next = (): Buffer => this.#own ?? this.#buffers.shared;

  /** False if the socket must not be read on. */
  readonly onRead = (length: number, memory: Uint8Array): boolean => {
    const socket = this.#socket as Socket;
    const bytes = memory as Buffer;
    const canGoOn = this.listener?.onRead(bytes, length, this) ?? socket.push(Buffer.from(bytes.subarray(0, length)));
    this.resize(length);
    // The listener stopped the socket, and resumes it.
    return canGoOn && this.mayReadOn(length, socket);
  };

  /** Call when the `length` bytes of a read have been handled. */
  resize(length: number): void {
    if (length === READ_BUFFER_BYTES) {
      if (!this.#isWatched) this.#socket?.once('close', this.release);
      this.#isWatched = true;
      this.#own ??= this.#buffers.take();
    } else if (length < LARGE_READ_BYTES) {
      this.release();
    }
  }

  readonly release = (): void => {
    if (this.#own === undefined) return;
    this.#buffers.giveBack(this.#own);
    this.#own = undefined;
  };

  /**
   * Whether `socket` may be read again in this turn, after a read of `length` bytes. If not, the caller stops reading
   * it, and reading resumes in a later turn unless the socket is paused by then.
   */
  mayReadOn(length: number, socket: Socket): boolean {
    // A read that is not full has emptied the socket.
    if (length < READ_BUFFER_BYTES) return true;
    const { turn } = this.#buffers;
    if (turn !== this.#turn) this.#fullReads = 0;
    this.#turn = turn;
    this.#fullReads += 1;
    if (this.#fullReads < FULL_READS_A_TURN && this.#buffers.hasTime) return true;
    this.#buffers.later(() => {
      if (!socket.destroyed && !socket.isPaused()) socket.resume();
    });
    return false;
  }
}

/** Undocumented fields of a socket; test/system/proxy/upstream/accepted-reads.test.ts would notice their loss. */
type SocketInternals = Record<symbol, unknown> & {
  _handle: { readonly useUserBuffer?: (buffer: Buffer) => void } | null;
};

/** Where Node 20 to 26 keep the option `onread` of a socket; undefined if this Node keeps it elsewhere. */
const ONREAD_FIELDS = findOnreadFields();

function findOnreadFields() {
  const symbols = Object.getOwnPropertySymbols(new net.Socket());
  const [buffer, nextBuffer, callback] = ['kBuffer', 'kBufferGen', 'kBufferCb'].map((name) =>
    symbols.find(({ description }) => description === name),
  );
  if (buffer === undefined || nextBuffer === undefined || callback === undefined) return undefined;
  return { buffer, nextBuffer, callback };
}
