/**
 * Does the writes of one turn of the event loop together at its end. A write wakes a sleeping peer, which costs more
 * than the write; peers that are written to in quick succession are still awake. With 64 busy connections this takes a
 * third off a request's processor time (`npm run bench -- --workload rpc`).
 */
import type { Socket } from 'node:net';
import { QueuedWrites, type StalledWrites, type WritesOwner } from '../../limits/stalled-writes.ts';
import type { AddedTime } from '../exchange/exchange-reporter.ts';
import { READ_BUFFER_BYTES, type ReadBuffer } from '../upstream/read-buffer.ts';

/** Maximum writes in a batch. It bounds how long a call waits. */
const MAX_WRITES = 64;

export class WriteBatch {
  /** The first `#count` wait. It never shrinks: V8 would allocate its memory again for each turn. */
  readonly #waiting: (SocketWriter | undefined)[] = [];
  #count = 0;
  #isScheduled = false;

  add(writer: SocketWriter): void {
    this.#waiting[this.#count] = writer;
    this.#count += 1;
    if (this.#count === MAX_WRITES) this.flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // Immediates run after all readable sockets have been read.
      setImmediate(this.#onTurnEnd);
    }
  }

  readonly #onTurnEnd = (): void => {
    this.#isScheduled = false;
    this.flush();
  };

  /** Does all waiting writes now. Call it before slow work at the end of a turn. A flush adds none. */
  flush(): void {
    const count = this.#count;
    this.#count = 0;
    for (let i = 0; i < count; i += 1) {
      const writer = this.#waiting[i];
      this.#waiting[i] = undefined;
      writer?.flush();
    }
  }
}

export interface WriterOwner extends WritesOwner {
  /** The socket's buffer is full until its 'drain'. Not called for `write`, which returns false. */
  onFull(): void;
}

/** All writes to one socket. Call `flush` before ending it. */
export class SocketWriter {
  readonly #socket: Socket;
  readonly #batch: WriteBatch;
  readonly #added: AddedTime;
  readonly #owner: WriterOwner;
  readonly queued: QueuedWrites;
  #text = '';
  #sinceNs = 0;

  constructor(
    socket: Socket,
    services: { readonly writes: WriteBatch; readonly stalled: StalledWrites },
    added: AddedTime,
    owner: WriterOwner,
  ) {
    this.#socket = socket;
    this.#batch = services.writes;
    this.#added = added;
    this.#owner = owner;
    this.queued = new QueuedWrites(socket, services.stalled, READ_BUFFER_BYTES, owner);
  }

  /** Writes latin1 `text`, which should be short, at the end of this turn. `sinceNs` comes from `AddedTime.sample`. */
  writeSoon(text: string, sinceNs = 0): void {
    this.flush();
    this.#text = text;
    this.#sinceNs = sinceNs;
    this.#batch.add(this);
  }

  /** False, like a socket's, when it is full until 'drain'. `buffer` is the read buffer of `bytes`, if any. */
  write(bytes: Buffer, sinceNs = 0, buffer?: ReadBuffer): boolean {
    this.flush();
    const takesMore = buffer === undefined ? this.#socket.write(bytes) : buffer.pass(bytes, this.#socket);
    this.#wrote(sinceNs);
    return takesMore;
  }

  flush(): void {
    if (this.#text === '') return;
    const text = this.#text;
    this.clear();
    if (this.#socket.destroyed) return;
    const takesMore = this.#socket.write(text, 'latin1');
    this.#wrote(this.#sinceNs);
    if (!takesMore) this.#owner.onFull();
  }

  clear(): void {
    this.#text = '';
  }

  #wrote(sinceNs: number): void {
    this.queued.wrote();
    this.#added.written(sinceNs);
  }
}
