import { readFileSync } from 'node:fs';
import net from 'node:net';
import { nextTick } from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { attempt } from '../../base/attempt.ts';
import { type Clock, NS_PER_MS } from '../../base/clock.ts';
import { platform } from '../../base/platform/platform.ts';
import type { RelayConnection } from '../relay/relay-connection.ts';

/** Then the listener closes anyway and may reset clients: they arrive too fast, or our connection cannot enter. */
const MAX_TRIES = 20;
/** Bounded, since a client that has vanished leaves a half-open handshake for a minute. */
const MAX_WAITS = 4;
/** Time for accepting the whole queue: Node accepts one connection per turn. */
const ACCEPT_LIMIT_MS = 2_000;
/** A client retransmits its first data after 200 ms (RFC 6298 as in Linux), or later over a long distance. */
const RETRANSMISSION_MS = 300;

/**
 * Closes a listener without resetting clients. On close, the kernel resets every connection in the accept queue, with
 * the requests that may have arrived on it. So the queue must hold only our own connection then:
 *
 * 1. A connection of our own enters, and the backlog is set to its minimum. The queue is then full (it holds more than
 *    `backlog`) until its last connection is accepted: no other can enter.
 * 2. /proc shows its length. When all but one are accepted, and ours is not among them, only ours is left: the listener
 *    closes. If ours was not the last one, repeat.
 * 3. A client whose final ACK met the full queue believes that it is connected, and enters when it retransmits. So the
 *    listener stays open for that long, and then repeats.
 *
 * Meanwhile other clients get no answer to their SYN; they retry a second later, and are refused. A short queue that is
 * not full would not work: the kernel would answer with SYN cookies, and no table shows which clients hold one.
 */
export class ListenerEnd {
  readonly #server: net.Server;
  readonly #backlog: number;
  #own: net.Socket | undefined;
  #isOwnAccepted = false;
  #accepted = 0;
  #onAccepted: () => void = () => undefined;

  constructor(server: net.Server, backlog: number) {
    this.#server = server;
    this.#backlog = backlog;
    // Dropped connections are accepted as well, and closed at once.
    server.on('drop', (data) => this.#countAccepted(data ?? {}));
  }

  /** Call first for each accepted socket. True for our own connection, which is then destroyed. */
  isOwn(socket: net.Socket): boolean {
    const isOwn = this.#countAccepted(socket);
    if (isOwn) socket.destroy();
    return isOwn;
  }

  async close(): Promise<void> {
    const address = this.#server.address();
    // Elsewhere a client that connects at this moment may be reset.
    if (platform.canListenAgain && address !== null && typeof address !== 'string') await this.#makeQueueOurs(address);
    this.#server.close();
    this.#own?.destroy();
  }

  /** Once this resolves, the listener must close in the same turn of the event loop. */
  async #makeQueueOurs({ port, address }: net.AddressInfo): Promise<void> {
    // A wildcard address cannot be connected to.
    const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address] ?? address;
    const reachable = { port, host };
    let waits = 0;
    for (let tries = 0; tries < MAX_TRIES && waits < MAX_WAITS; tries += 1) {
      const found = await this.#tryQueue(reachable);
      if (found === 'ours') return;
      this.#own?.destroy();
      setBacklog(this.#server, this.#backlog);
      if (found !== 'later') continue;
      waits += 1;
      await wait(RETRANSMISSION_MS);
    }
  }

  async #tryQueue(reachable: { port: number; host: string }): Promise<'ours' | 'others' | 'later'> {
    const cookies = readCookiesSent();
    this.#isOwnAccepted = false;
    const own = net.connect(reachable);
    own.on('error', () => undefined);
    this.#own = own;
    // After the connect(2) call, which Node defers to the next tick.
    await new Promise<void>((resolve) => nextTick(resolve));
    setBacklog(this.#server, 0);
    const queue = readAcceptQueue(reachable.port, own.localPort ?? 0);
    if (readCookiesSent() !== cookies || queue?.hasHalfOpen === true) return 'later';
    if (queue === undefined) {
      // Lets connections into the queue, including ours.
      await wait(1);
      return 'others';
    }
    if (!(await this.#areAccepted(queue.length - 1))) return 'later';
    return this.#isOwnAccepted ? 'others' : 'ours';
  }

  /** Resolves with true in the same turn in which the last of `count` is accepted, or with false on timeout. */
  async #areAccepted(count: number): Promise<boolean> {
    if (count === 0) return true;
    const last = this.#accepted + count;
    return await new Promise<boolean>((resolve) => {
      const timer = setTimeout(resolve, ACCEPT_LIMIT_MS, false);
      this.#onAccepted = () => {
        if (this.#accepted < last) return;
        clearTimeout(timer);
        resolve(true);
      };
    });
  }

  #countAccepted({ remotePort, remoteAddress }: Partial<net.Socket>): boolean {
    const { localPort, localAddress } = this.#own ?? {};
    const isOwn = remotePort !== undefined && remotePort === localPort && remoteAddress === localAddress;
    if (isOwn) this.#isOwnAccepted = true;
    this.#accepted += 1;
    this.#onAccepted();
    return isOwn;
  }
}

/** Calls listen(2) again with another backlog. Undocumented in Node; without it, some clients may be reset. */
function setBacklog(server: net.Server, backlog: number): void {
  const { _handle: handle } = server as unknown as { _handle?: { listen?: (backlog: number) => number } | null };
  handle?.listen?.(backlog);
}

/** TCP states as in the kernel's include/net/tcp_states.h. */
const ESTABLISHED = '01';
const SYN_RECV = '03';
const LISTEN = '0A';

/**
 * The kernel's accept queue (Linux's proc_net_tcp.rst) of the listener on `port` that a client of this machine reached
 * from `clientPort`. `length`: established connections that are not accepted yet, including that client's.
 * `hasHalfOpen`: a handshake lacks the client's final ACK, so that it may believe that it is connected, and have sent
 * data. Undefined if that client is not connected, or without /proc. Blocks for 3 µs per connection of this machine (or
 * pod).
 */
export function readAcceptQueue(port: number, clientPort: number) {
  for (const table of ['tcp', 'tcp6']) {
    const rows = readRows(table, port);
    const client = rows.find(({ remotePort, state }) => state === ESTABLISHED && remotePort === clientPort);
    if (client === undefined) continue;
    const listeners = rows.filter(({ state }) => state === LISTEN);
    // Like the kernel, prefer the listener with the more specific address.
    const listener =
      listeners.find(({ address }) => address === client.address) ??
      listeners.find(({ address }) => /^0+$/.test(address));
    if (listener === undefined) continue;
    return { length: listener.rxQueue, hasHalfOpen: rows.some(({ state }) => state === SYN_RECV) };
  }
  return undefined;
}

/** SYN cookies sent since the kernel's start, for all listeners. No table lists such handshakes: they have no state. */
export function readCookiesSent(): number {
  const [names = [], values = []] = read('netstat')
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('SyncookiesSent')] ?? 0);
}

function readRows(table: string, port: number) {
  const hexPort = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return read(table)
    .split('\n')
    .filter((line) => line.includes(hexPort))
    .flatMap((line) => {
      // `0: 0100007F:A351 00000000:0000 0A 00000000:00000001 …`: addresses, state, bytes to send, listener's queue.
      const [, local = '', remote = '', state = '', queues = ''] = line.trim().split(/\s+/, 5);
      if (!local.endsWith(hexPort)) return [];
      const afterColon = (text: string) => Number.parseInt(text.split(':')[1] ?? '', 16);
      const address = local.slice(0, -hexPort.length);
      return [{ address, remotePort: afterColon(remote), state, rxQueue: afterColon(queues) }];
    });
}

function read(file: string): string {
  return attempt(() => readFileSync(`${platform.procPath}/net/${file}`, 'latin1')) ?? '';
}

export type ClosableConnection = Pick<RelayConnection, 'isIdle' | 'bytesRead' | 'closeIfIdle'>;

/** Samples connections to distinguish unused ones from those whose clients only pause between two requests. */
export class QuietConnections {
  readonly #clock: Clock;
  readonly #samples = new WeakMap<ClosableConnection, { readonly bytesRead: number; readonly sinceNs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Samples all connections. Call it at least once before the first `close`, as early as possible. */
  sample(connections: Iterable<ClosableConnection>): void {
    for (const connection of connections) this.#quietNs(connection);
  }

  close(connections: Iterable<ClosableConnection>, quietMs: number): void {
    for (const connection of connections) {
      const quietNs = this.#quietNs(connection);
      if (connection.isIdle && quietNs >= quietMs * NS_PER_MS) connection.closeIfIdle();
    }
  }

  #quietNs(connection: ClosableConnection): number {
    const nowNs = this.#clock.nowNs();
    const { bytesRead, isIdle } = connection;
    const last = this.#samples.get(connection);
    // A running request is not quiet, though its client may send nothing until the answer.
    if (isIdle && last?.bytesRead === bytesRead) return nowNs - last.sinceNs;
    this.#samples.set(connection, { bytesRead, sinceNs: nowNs });
    return 0;
  }
}
