import net from 'node:net';
import { setImmediate as turnOfLoop } from 'node:timers/promises';

/** Turns of the loop without anybody new, after which nobody waits: Node takes one a turn. */
const QUIET_TURNS = 2;
/** Where clients come faster than they are taken, or ours do not come through, some may be reset after all. */
const MOST_TURNS = 1_000;
const MOST_TRIES = 20;
const TURNS_TO_BE_TAKEN = 20;

/**
 * Closes a listener without resetting clients. When it closes, the kernel resets every connection that it has accepted for it and
 * that nobody has taken yet, with the request that may have come on it. A process on a busy machine may be put aside at any
 * moment, so the queue has to be ours when it is dropped, and there must be no moment at which it is not:
 *
 * 1. The queue is made as short as can be, and emptied: at most one waits in it (it is full when there are more than `backlog`).
 * 2. Made longer by one, it is filled by two connections of our own, and then shortened again.
 * 3. When the first is taken, the second keeps the queue full. Had somebody come between the two, the second would not stand:
 *    then it is tried again. Else the listener closes on the second alone.
 *
 * Who is kept out meanwhile gets no answer to its SYN, asks again a second later, and is refused.
 */
export class ListenerEnd {
  readonly #server: net.Server;
  #own: readonly net.Socket[] = [];
  #accepted = 0;
  #isFirstTaken = false;

  constructor(server: net.Server) {
    this.#server = server;
  }

  /** To be asked of each socket that the listener has accepted, before anything else: true for ours, which is then gone. */
  isOwn(socket: net.Socket): boolean {
    this.#accepted += 1;
    const { remotePort, remoteAddress } = socket;
    const index = this.#own.findIndex((own) => own.localPort === remotePort && own.localAddress === remoteAddress);
    if (index === -1) return false;
    if (index === 0) this.#isFirstTaken = true;
    socket.destroy();
    return true;
  }

  /** Takes all who wait, and closes. */
  async close(): Promise<void> {
    const address = this.#server.address();
    if (address !== null && typeof address !== 'string') {
      const target = { port: address.port, host: toReachable(address.address) };
      for (let tries = 0; tries < MOST_TRIES && !(await this.#isQueueOurs(target)); tries += 1);
    }
    this.#server.close();
    this.#leave();
  }

  async #isQueueOurs(target: { port: number; host: string }): Promise<boolean> {
    this.#leave();
    setBacklog(this.#server, 0);
    await this.#emptied();
    setBacklog(this.#server, 1);
    this.#isFirstTaken = false;
    const [first, second] = [net.connect(target), net.connect(target)];
    this.#own = [first, second];
    for (const own of this.#own) own.on('error', () => undefined);
    // Behind the system calls that connect, which Node puts off to the next tick.
    process.nextTick(() => setBacklog(this.#server, 0));
    for (let turn = 0; turn < TURNS_TO_BE_TAKEN && !this.#isFirstTaken; turn += 1) await turnOfLoop();
    // In the same turn, in which the second cannot have been taken as well.
    return this.#isFirstTaken && !second.connecting && !second.destroyed;
  }

  async #emptied(): Promise<void> {
    let accepted = -1;
    let quietTurns = 0;
    for (let turn = 0; turn < MOST_TURNS && quietTurns < QUIET_TURNS; turn += 1) {
      quietTurns = this.#accepted === accepted ? quietTurns + 1 : 0;
      accepted = this.#accepted;
      await turnOfLoop();
    }
  }

  #leave(): void {
    for (const own of this.#own) own.destroy();
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
