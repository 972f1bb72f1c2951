import type net from 'node:net';
import { type HeadWaiter, RequestAccount } from '../../limits/request-memory.ts';
import { PAUSING_BYTES, type StallingConnection } from '../../limits/stalled-writes.ts';
import { closeAfterWrites, LINGER_MS, resetConnection } from '../../tls/connection-end.ts';
import type { ClientConnection } from '../exchange/exchange.ts';
import { type RequestProblemStatus, requestProblem, toRawResponse } from '../exchange/problem.ts';
import { type QueuedRequest, UNSENT_REQUEST } from './queued-request.ts';
import type { GatewayServices } from './services.ts';
import { NO_SIZE, type RequestSize } from './set-request-head.ts';
import type { UpstreamAgent } from './upstream-agent.ts';

/** Requests that may wait while one is being served. One read can hold about 2,500; no client needs that. */
export const MAX_WAITING = 256;

/** The socket is paused while this many wait, so that only a burst of more than 128 requests in one read is refused. */
const MANY_WAITING = MAX_WAITING / 2;

/** Bytes that the paused side of a stalled body holds, in Node's streams and in the current read. Measured. */
const PAUSED_BYTES = 104 * 1024;

/** Node calls `onIncoming` for each head that its parser has read; undocumented, the same in Node 20 and 26. */
interface ParsedSocket {
  readonly parser?: { onIncoming: unknown } | null;
}

/** Makes the parser fail at this head, within the bytes that it has. `parser.pause()` would only stop after them. */
const STOP = () => -1;

interface Serving {
  readonly client: ClientConnection;
  readonly agent: UpstreamAgent;
  readonly isDraining: boolean;
}

/**
 * One client connection of the gateway, with an upstream connection of its own.
 *
 * Requests that wait are charged to the memory budget of all connections. An unfinished head is charged too, from the
 * gateway's next check on. Node's parser holds that head and does not tell its size, so the charge is what arrived
 * since the last check that found no unfinished head.
 */
export class ServedConnection implements StallingConnection, HeadWaiter {
  readonly socket: net.Socket;
  readonly client: ClientConnection;
  readonly agent: UpstreamAgent;
  readonly #services: GatewayServices;
  /** Charged for the requests that wait. */
  readonly #account: RequestAccount;
  /** The upstream's socket, once the connection is a tunnel. */
  #tunnel: net.Socket | undefined;
  /** The first request is running, the others wait. */
  readonly #queue: QueuedRequest[] = [];
  readonly #sizes: RequestSize[] = [];
  /** The socket is not read until no request waits. */
  #isReadingStopped = false;
  /** Node's server reads the socket. */
  #isParsed = true;
  #isSettling = false;
  #isDraining: boolean;
  /** A response has announced the end of the connection. With `#mustEnd` the connection ends without that. */
  #hasToldEnd = false;
  #mustEnd = false;
  #isClosing = false;
  #isRefusing = false;
  #hasClientEnded = false;
  /** `socket.bytesRead` at the last check that found no unfinished head. */
  #headlessAtBytes: number;
  /**
   * `socket.bytesRead` when the connection became idle: while it is unchanged, no byte of a next request has arrived.
   */
  #idleAtBytes: number;

  constructor(socket: net.Socket, { client, agent, isDraining }: Serving, services: GatewayServices) {
    this.socket = socket;
    this.agent = agent;
    this.client = client;
    this.#services = services;
    this.#account = new RequestAccount(services.options.memory);
    this.#isDraining = isDraining;
    this.#headlessAtBytes = socket.bytesRead - socket.readableLength;
    this.#idleAtBytes = socket.readableLength > 0 ? Number.NaN : socket.bytesRead;
    // Stays for the connection's whole life. Between Node's server and http-proxy the socket has no other error
    // listener for moments, and a client's reset at such a moment would end the process (#1468).
    socket.on('error', () => undefined);
    // Node's server calls this after a connection's last response. Destroying a socket with unread bytes resets it, and
    // a client that is still sending may then lose an early answer.
    socket.destroySoon = () => this.close();
    socket.on('end', () => this.#onClientEnded());
    socket.on('close', () => this.#onClosed());
  }

  /** The running request is the last: the connection drains or its client has ended, and no other request waits. */
  get isLast(): boolean {
    return (this.#isDraining || this.#hasClientEnded) && this.#queue.length === 1;
  }

  /**
   * As `isLast`, for an answer that announces the end: the answer is then the last even if requests follow (RFC 9112
   * §9.6).
   */
  tellIfLast(): boolean {
    this.#hasToldEnd ||= this.isLast;
    return this.#hasToldEnd;
  }

  /** The connection accepts no more requests. */
  get isClosing(): boolean {
    return this.#isClosing || this.#isRefusing;
  }

  get hasClientEnded(): boolean {
    return this.#hasClientEnded;
  }

  get isFull(): boolean {
    return this.#queue.length > MAX_WAITING;
  }

  get bytesRead(): number {
    return this.socket.bytesRead;
  }

  /** No request is in progress, and no byte of a next one has arrived. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.socket.bytesRead === this.#idleAtBytes;
  }

  /**
   * The running request waits for the upstream, not for the client. A client that has sent too much ahead is not read,
   * so the sidecar would not see it leave: its silence counts, as in the relay.
   */
  get canBeSilent(): boolean {
    const isTooFarAhead = this.#isReadingStopped && this.#queue.at(-1)?.isReceiving !== true;
    return this.#queue[0]?.canBeSilent === true && !isTooFarAhead;
  }

  /** To be called when a write starts or stops waiting, and periodically. */
  checkStalled(): void {
    this.#services.options.stalled.check(this);
  }

  /** Charges an unfinished head. To be called periodically. `isInMessage`: Node's parser has a part of a message. */
  chargeHead(isInMessage: boolean): void {
    if (this.isClosing || !this.#isParsed) return;
    const { headBytes } = this.#services.options;
    const { bytesRead } = this.socket;
    const waitingBytes = this.#waiting('keptBytes');
    if (!isInMessage || this.#queue.at(-1)?.isReceiving === true) {
      this.#headlessAtBytes = bytesRead;
      this.#account.keep(waitingBytes);
      return;
    }
    const unfinishedBytes = Math.min(bytesRead - this.#headlessAtBytes, headBytes);
    if (!this.#account.keep(waitingBytes + unfinishedBytes, this)) this.onHeadEvicted();
  }

  /** Node's parser keeps the head while the socket is open, so the connection closes without lingering. */
  onHeadEvicted(): void {
    this.#services.reporter.hits.hit('limits.memoryBytes');
    if (this.#queue.length > 0) {
      resetConnection(this.socket);
      return;
    }
    this.refuse(503);
    this.socket.once('finish', () => this.socket.destroy());
  }

  get stalledBytes(): number {
    const { socket } = this;
    if (socket.destroyed) return 0;
    const upstreamBytes = (this.#queue[0]?.upstream ?? this.#tunnel)?.writableLength ?? 0;
    const bytes = socket.writableLength + upstreamBytes;
    return bytes < PAUSING_BYTES ? bytes : bytes + PAUSED_BYTES;
  }

  get sentBytes(): number {
    const upstream = this.#queue[0]?.upstream?.socket ?? this.#tunnel;
    return sentOn(this.socket) + (upstream ? sentOn(upstream) : 0);
  }

  onStalledTooLong(): void {
    this.#services.reporter.hits.hit('limits.memoryBytes');
    resetConnection(this.socket);
  }

  get isBusy(): boolean {
    return this.#queue.length > 0;
  }

  /** Reserves memory for a request of that size, which the caller then adds. False without room. */
  hasRoomFor({ keptBytes }: RequestSize): boolean {
    return this.#account.keep(this.#waiting('keptBytes') + keptBytes);
  }

  add(queued: QueuedRequest, size: RequestSize = NO_SIZE): void {
    this.#queue.push(queued);
    this.#sizes.push(size);
    if (this.#queue.length === 1) {
      queued.begin();
      return;
    }
    // Pause at once: a stream hands over all that it has buffered in one turn of the loop.
    const isTooMuch =
      this.#waiting('headBytes') > this.#services.options.headBytes || this.#queue.length > MANY_WAITING;
    if (isTooMuch && this.#isParsed) this.#stopReading();
    // More of the request's body may come in the same read; its size is known when the parser has finished.
    if (this.#isSettling) return;
    this.#isSettling = true;
    process.nextTick(this.#settle);
  }

  /** To be called each time after Node's server has begun to serve the socket: its listeners must come first. */
  onServed(): void {
    this.#isParsed = true;
    this.socket.off('resume', this.#onResume);
    this.socket.on('resume', this.#onResume);
  }

  /** Node's server has released the socket; another reader has taken over. */
  onUpgrade(): void {
    this.#isParsed = false;
    this.#isReadingStopped = false;
  }

  /** To be called by the running request when both its sides have finished. */
  done(queued: QueuedRequest): void {
    if (this.#queue[0] !== queued) return;
    this.#shift();
    const next = this.#queue[0];
    if (next !== undefined && !this.#hasToldEnd) {
      if (!this.#isClosing) next.begin();
      return;
    }
    this.#idleAtBytes = this.socket.bytesRead;
    if (this.#hasToldEnd || this.#mustEnd || this.#hasClientEnded) this.close();
  }

  /** To be called instead of `done` by a request that will be read again. */
  release(queued: QueuedRequest): void {
    if (this.#queue[0] === queued) this.#shift();
  }

  /**
   * Answers from now on announce the end of their connection. A response whose head was already sent does not end it.
   */
  announceEnd(): void {
    this.#isDraining = true;
  }

  /** Ends the connection after the last request that has arrived, whether or not a response has announced the end. */
  endAfterLast(): void {
    this.#isDraining = true;
    this.#mustEnd = true;
  }

  /** A client may begin to send at the same moment: see `QUIET_MS` in lifecycle.ts. */
  closeIfIdle(): void {
    if (this.isIdle) this.close();
  }

  /**
   * Refuses the request at the end of the queue after those before it, and closes. Reads nothing after it, since the
   * start of a next request cannot be known.
   */
  refuse(status: RequestProblemStatus, isHead = false): void {
    if (this.isClosing) return;
    this.#isRefusing = true;
    this.#stopParsing();
    const answer = toRawResponse(requestProblem(status), { isHead, isLast: true });
    const last = this.#queue.at(-1);
    if (last?.isReceiving === true) {
      last.cancel();
      if (this.#queue.length === 1) {
        if (last.hasAnswered) this.socket.destroy();
        else this.close(answer);
        return;
      }
      this.#queue.pop();
      this.#sizes.pop();
    }
    // The client is not read until it gets the refusal.
    if (this.#queue.length > 0) this.#stopReading();
    this.add({
      ...UNSENT_REQUEST,
      begin: () => this.close(answer),
      cancel: () => undefined,
    });
  }

  /** Answers the running request instead of the upstream, and closes. */
  refuseNow(status: RequestProblemStatus, isHead: boolean): void {
    this.close(toRawResponse(requestProblem(status), { isHead, isLast: true }));
  }

  /** Ends the sidecar's side after `answer` and all earlier writes. What the client still sends is dropped. */
  close(answer?: Buffer): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#isReadingStopped = false;
    this.#stopParsing();
    const { socket } = this;
    const { idleTimeoutMs } = this.#services.options;
    socket.setTimeout(idleTimeoutMs > 0 ? idleTimeoutMs : LINGER_MS, () => socket.destroy());
    if (answer !== undefined) socket.write(answer);
    closeAfterWrites(socket, () => this.checkStalled());
  }

  /** The connection carries no more HTTP from here on; the tunnel ends it. */
  becomeTunnel(upstream: net.Socket): void {
    this.#tunnel = upstream;
    Reflect.deleteProperty(this.socket, 'destroySoon');
  }

  /** Ends a connection in the middle of a response, so that the client cannot mistake it for a complete one. */
  breakOff(isUntilClose: boolean): void {
    if (isUntilClose) resetConnection(this.socket);
    else this.close();
  }

  #shift(): void {
    this.#queue.shift();
    this.#sizes.shift();
    this.#account.keep(this.#waiting('keptBytes'));
    if (this.#queue.length > 1 || !this.#isReadingStopped || this.isClosing) return;
    this.#isReadingStopped = false;
    this.socket.resume();
  }

  /** Bytes of all requests that wait, including what has arrived of their bodies. */
  #waiting(of: keyof RequestSize): number {
    let bytes = 0;
    for (const [i, queued] of this.#queue.entries()) if (i > 0) bytes += (this.#sizes[i]?.[of] ?? 0) + queued.bodyBytes;
    return bytes;
  }

  /** Runs after each read that brought a waiting request. */
  readonly #settle = (): void => {
    this.#isSettling = false;
    if (this.#queue.length < 2 || this.isClosing) return;
    // Without this Node reads up to a stream's high-water mark; the kernel's buffers are enough.
    if (this.#isParsed && this.#queue.at(-1)?.isReceiving === true) this.#stopReading();
    if (!this.#account.keep(this.#waiting('keptBytes'))) {
      this.#services.reporter.hits.hit('limits.memoryBytes');
      this.refuse(503);
    }
  };

  #stopReading(): void {
    this.#isReadingStopped = true;
    this.socket.pause();
  }

  /** Node itself resumes the socket at the end of each message and at each 'drain'. */
  readonly #onResume = (): void => {
    if (this.#isReadingStopped) this.socket.pause();
  };

  /** From here on bytes are read and dropped, not parsed. */
  #stopParsing(): void {
    const { parser } = this.socket as ParsedSocket;
    if (parser?.onIncoming !== undefined) parser.onIncoming = STOP;
  }

  #onClientEnded(): void {
    this.#hasClientEnded = true;
    if (this.#isClosing) return;
    if (this.#queue.length === 0) {
      this.close();
      return;
    }
    this.socket.setTimeout(this.#services.options.halfClosedTimeoutMs, () => {
      if (!this.#isClosing) this.#services.reporter.hits.hit('timeouts.halfClosed');
      this.socket.destroy();
    });
    if (this.#queue.length === 1) this.#queue[0]?.onClientEnded();
  }

  #onClosed(): void {
    this.#isClosing = true;
    for (const queued of this.#queue.splice(0)) queued.cancel();
    this.#account.keep(0);
    this.#services.options.stalled.remove(this);
    this.agent.destroy();
  }
}

/** Bytes that the operating system has taken. */
function sentOn(socket: net.Socket): number {
  return socket.bytesWritten - socket.writableLength;
}
