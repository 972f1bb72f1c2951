/**
 * Writes of one turn of the event loop, done together at its end. Each write to a peer that sleeps wakes it, and a wake-up
 * costs the writer more than the write: peers that are written to in quick succession are still awake for the second. With 64
 * busy connections this takes a third off a request's processor time (`npm run bench -- --workload rpc`); with one it changes
 * nothing.
 */
import type { Socket } from 'node:net';
import type { AddedTime } from '../exchange/added-time.ts';

/** Writes that may wait for each other: no call waits for longer than this many others take. */
const MAX_WRITES = 64;

/** What all connections share: whose bytes wait for the end of the turn. */
export class WriteBatch {
  #waiting: DeferredWriter[] = [];
  #isScheduled = false;

  add(writer: DeferredWriter): void {
    this.#waiting.push(writer);
    if (this.#waiting.length >= MAX_WRITES) this.flush();
    else if (!this.#isScheduled) {
      this.#isScheduled = true;
      // Immediates run when all sockets that were readable have been read.
      setImmediate(this.#onTurnEnd);
    }
  }

  readonly #onTurnEnd = (): void => {
    this.#isScheduled = false;
    this.flush();
  };

  /** Does now what waits: to be called before anything that takes its time at the end of a turn. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const writer of waiting) writer.flush();
  }
}

/** One direction of a connection. Whoever ends its socket, or writes to it himself, has to call `flush` before. */
export class DeferredWriter {
  readonly #batch: WriteBatch;
  readonly #added: AddedTime;
  readonly #onFull: () => void;
  #socket: Socket | undefined;
  #text = '';
  #sinceNs = 0;

  /** `onFull`: the socket takes no more until its `drain`, as `write` would have said by `false`. */
  constructor(batch: WriteBatch, added: AddedTime, onFull: () => void) {
    this.#batch = batch;
    this.#added = added;
    this.#onFull = onFull;
  }

  /** Writes latin1 `text`, which should be short, at the end of this turn. `sinceNs`: what `AddedTime.sample` gave for it. */
  write(socket: Socket, text: string, sinceNs = 0): void {
    this.flush();
    this.#socket = socket;
    this.#text = text;
    this.#sinceNs = sinceNs;
    this.#batch.add(this);
  }

  /** Writes now what waits. */
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

  /** Forgets what waits: its socket is gone. */
  clear(): void {
    this.#socket = undefined;
    this.#text = '';
  }
}
