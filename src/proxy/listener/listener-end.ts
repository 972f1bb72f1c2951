import net from 'node:net';
import { nextTick } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { readAcceptQueue, readCookiesSent } from './accept-queue.ts';

/** Where clients come faster than they are taken, or ours does not come through, some may be reset after all. */
const MOST_TRIES = 20;
/** A client that is gone leaves its half of a handshake for a minute. */
const MOST_WAITS = 4;
/** For all who are in the queue to be taken: Node takes one a turn. */
const TO_BE_TAKEN_MS = 2_000;
/** A client repeats its first data after 200 ms (RFC 6298 as Linux has it), or later over a long way. */
const REPETITION_MS = 300;

/**
 * Closes a listener without resetting clients. When it closes, the kernel resets every connection that it has accepted for it and
 * that nobody has taken yet, with the request that may have come on it. A process on a busy machine may be put aside at any
 * moment, so the queue has to be ours when it is dropped, and there must be no moment at which it is not:
 *
 * 1. A connection of our own is put into the queue, and the queue is made as short as can be behind it. It is full then (it is
 *    when there are more than `backlog`), and stays so until the last one in it is taken: nobody else comes in.
 * 2. The kernel tells how many are in it. When all but one are taken and ours is not among them, the listener closes on ours alone.
 * 3. If ours was not the last one, it is tried again.
 * 4. Whose last packet of the handshake came when the queue was full is not in it, but takes his connection for established. He
 *    gets in when he repeats it, so the listener goes on for as long as that takes, and it is tried again.
 *
 * Who is kept out meanwhile gets no answer to its SYN, asks again a second later, and is refused. A short queue that is not full would
 * be no way: then the kernel answers with cookies, and nobody can tell who holds one.
 */
export class ListenerEnd {
  readonly #server: net.Server;
  /** Of the listener in use. */
  readonly #backlog: number;
  #own: net.Socket | undefined;
  #isOwnTaken = false;
  #taken = 0;
  /** Called with each that is taken. */
  #onTaken: () => void = () => undefined;

  constructor(server: net.Server, backlog: number) {
    this.#server = server;
    this.#backlog = backlog;
    // Taken as well, and closed at once.
    server.on('drop', (data) => this.#take(data ?? {}));
  }

  /** To be asked of each socket that the listener has accepted, before anything else: true for ours, which is then gone. */
  isOwn(socket: net.Socket): boolean {
    const isOwn = this.#take(socket);
    if (isOwn) socket.destroy();
    return isOwn;
  }

  /** Takes all who wait, and closes. */
  async close(): Promise<void> {
    const address = this.#server.address();
    if (address !== null && typeof address !== 'string') await this.#makeQueueOurs(address);
    this.#server.close();
    this.#own?.destroy();
  }

  /** To be followed by the closing in the same turn. */
  async #makeQueueOurs({ port, address }: net.AddressInfo): Promise<void> {
    const target = { port, host: toReachable(address) };
    let waits = 0;
    for (let tries = 0; tries < MOST_TRIES && waits < MOST_WAITS; tries += 1) {
      const found = await this.#tryQueue(target);
      if (found === 'ours') return;
      this.#own?.destroy();
      setBacklog(this.#server, this.#backlog);
      if (found !== 'later') continue;
      waits += 1;
      await wait(REPETITION_MS);
    }
  }

  async #tryQueue(target: { port: number; host: string }): Promise<'ours' | 'others' | 'later'> {
    const cookies = readCookiesSent();
    this.#isOwnTaken = false;
    const own = net.connect(target);
    own.on('error', () => undefined);
    this.#own = own;
    // Behind the system call that connects, which Node puts off to the next tick.
    await new Promise<void>((resolve) => nextTick(resolve));
    setBacklog(this.#server, 0);
    const queue = readAcceptQueue(target.port, own.localPort ?? 0);
    if (readCookiesSent() !== cookies || queue?.hasHalfOpen === true) return 'later';
    if (queue === undefined) {
      // Let in whoever comes, ours too.
      await wait(1);
      return 'others';
    }
    if (!(await this.#areTaken(queue.length - 1))) return 'later';
    return this.#isOwnTaken ? 'others' : 'ours';
  }

  /** Resolves in the very turn in which the last of so many is taken, or with false after a while. */
  async #areTaken(count: number): Promise<boolean> {
    if (count === 0) return true;
    const last = this.#taken + count;
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(resolve, TO_BE_TAKEN_MS, false);
      this.#onTaken = () => {
        if (this.#taken < last) return;
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  #take({
    remotePort,
    remoteAddress,
  }: {
    remotePort?: number | undefined;
    remoteAddress?: string | undefined;
  }): boolean {
    const { localPort, localAddress } = this.#own ?? {};
    const isOwn = remotePort !== undefined && remotePort === localPort && remoteAddress === localAddress;
    if (isOwn) this.#isOwnTaken = true;
    this.#taken += 1;
    this.#onTaken();
    return isOwn;
  }
}

/** An address that means all of them is none to connect to. */
function toReachable(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  return address === '::' ? '::1' : address;
}

/** listen(2) may be called again with another backlog. Node has only a name of its own for it; without it some may be reset. */
function setBacklog(server: net.Server, backlog: number): void {
  const { _handle: handle } = server as unknown as { _handle?: { listen?: (backlog: number) => number } | null };
  handle?.listen?.(backlog);
}
