/**
 * Collects the writes of one turn of the event loop and does them together at its end. A write to a sleeping peer wakes
 * it, and a wake-up costs the writer more than the write. Peers that are written to in quick succession are still awake
 * for the second write. With 64 busy connections this takes a third off a request's processor time
 * (`npm run bench -- --workload rpc`); with one connection it changes nothing.
 */
import type { Socket } from 'node:net';
import type { AddedTime } from '../exchange/added-time.ts';

/** Maximum writes in a batch. It bounds how long a call waits. */
const MAX_WRITES = 64;

export class WriteBatch {
  #waiting: DeferredWriter[] = [];
  #isScheduled = false;

  add(writer: DeferredWriter): void {
    this.#waiting.push(writer);
    if (this.#waiting.length >= MAX_WRITES) this.flush();
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

  /** Does all waiting writes now. Call it before slow work at the end of a turn. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const writer of waiting) writer.flush();
  }
}

/** Deferred writes in one direction of a connection. Call `flush` before ending or writing to its socket directly. */
export class DeferredWriter {
  readonly #batch: WriteBatch;
  readonly #added: AddedTime;
  readonly #onFull: () => void;
  #socket: Socket | undefined;
  #text = '';
  #sinceNs = 0;

  /** `onFull` is called when the socket's `write` returns false: its buffer is full until its 'drain'. */
  constructor(batch: WriteBatch, added: AddedTime, onFull: () => void) {
    this.#batch = batch;
    this.#added = added;
    this.#onFull = onFull;
  }

  /** Writes latin1 `text`, which should be short, at the end of this turn. `sinceNs` comes from `AddedTime.sample`. */
  write(socket: Socket, text: string, sinceNs = 0): void {
    this.flush();
    this.#socket = socket;
    this.#text = text;
    this.#sinceNs = sinceNs;
    this.#batch.add(this);
  }

  flush(): void {
    const socket = this.#socket;
    if (socket === undefined) return;
    const text = this.#text;
    const sinceNs = this.#sinceNs;
    this.clear();
    if (socket.destroyed) return;
    const takesMore = socket.write(text, 'latin1');
    this.#added.written(sinceNs);
    if (!takesMore) this.#onFull();
  }

  clear(): void {
    this.#socket = undefined;
    this.#text = '';
  }
}
