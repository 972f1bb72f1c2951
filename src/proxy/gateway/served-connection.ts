import http from 'node:http';
import type net from 'node:net';
import type { HeadWaiter, RequestAccount } from '../../limits/request-memory.ts';
import { PAUSING_BYTES, type StalledWrites, type StallingConnection } from '../../limits/stalled-writes.ts';
import { resetConnection } from '../../tls/reset.ts';
import type { ClientConnection } from '../exchange/exchange.ts';
import { type RequestProblemStatus, requestProblem, toRawResponse } from '../exchange/problem.ts';
import type { UpstreamTls } from '../upstream/upstream-tls.ts';
import { NO_SIZE, type RequestSize } from './request-head.ts';
import type { Turn } from './turn.ts';

/** How long a client may go on sending into a connection that we have closed, so that it can read the answer first. */
const LINGER_MS = 2_000;

/** Requests that may wait behind one that is being served. One read holds up to about 2,500; no client means that. */
export const MAX_WAITING = 256;

/** The socket is not read while that many wait, so that only more than 256 requests within one read are refused. */
const MANY_WAITING = MAX_WAITING / 2;

/** What the paused side of a stalled body keeps, in Node's streams and in the read that is under way. Measured. */
const PAUSED_BYTES = 104 * 1024;

/** What Node calls for each head that its parser has read; undocumented, the same in Node 20 and 26. */
interface ParsedSocket {
  readonly parser?: { onIncoming: unknown } | null;
}

/** An error for the parser: it stops at this head, within the bytes that it has. `parser.pause()` would only stop after them. */
const STOP = () => -1;

export interface ConnectionOptions {
  /** Heads that wait may have that many bytes; past that the socket is not read. */
  readonly headBytes: number;
  /** What the requests that wait are charged to. */
  readonly account: RequestAccount;
  /** Called when memory had no room: the request is refused, or the connection reset. */
  readonly onNoMemory: () => void;
  /** Who is charged for what the peers do not read. */
  readonly stalled: StalledWrites;
  /** How long a connection may be without progress while its last bytes are sent. */
  readonly idleTimeoutMs: number;
  /** How long a client that has closed its sending side may still wait. */
  readonly halfClosedTimeoutMs: number;
  /** To be counted. */
  readonly onHalfClosedTooLong: () => void;
  /** How the upstream is dialled; undefined: by plain TCP. */
  readonly upstreamTls: UpstreamTls | undefined;
  /** Resolves the upstream's name. */
  readonly lookup: net.LookupFunction;
}

/**
 * One client's connection in the gateway, with the upstream connection that belongs to it and to nobody else.
 *
 * Requests that wait are charged to the memory of all connections. So is a head that is not finished, from the gateway's next look
 * on: Node's parser has it, and does not tell its size. What is charged is what came since the last look that found no such head.
 */
export class ServedConnection implements StallingConnection, HeadWaiter {
  readonly socket: net.Socket;
  readonly client: ClientConnection;
  /**
   * An agent of its own, for at most one socket: connections stay one to one, so no client can receive another's response,
   * and logins that hang on a connection keep working.
   */
  readonly agent: http.Agent;
  readonly #options: ConnectionOptions;
  /** The upstream's end, once the connection is a tunnel. */
  #tunnel: net.Socket | undefined;
  /** The first one is running. */
  readonly #turns: Turn[] = [];
  /** Of the requests in `#turns`. */
  readonly #sizes: RequestSize[] = [];
  /** The socket is not read until all that waits has had its turn. */
  #isHeldBack = false;
  /** Node's server reads the socket. */
  #isParsed = true;
  #isSettling = false;
  #isDraining: boolean;
  /** The client has been told, or has to be left without being told. */
  #hasToldEnd = false;
  #mustEnd = false;
  #isClosing = false;
  #isRefusing = false;
  #hasClientEnded = false;
  #timer: NodeJS.Timeout | undefined;
  /** `socket.bytesRead` at the last look that found no unfinished head. */
  #headlessAtBytes: number;
  /** `socket.bytesRead` when the connection became idle: nothing of a next request has come while it is the same. */
  #idleAtBytes: number;

  constructor(socket: net.Socket, client: ClientConnection, options: ConnectionOptions, isDraining: boolean) {
    this.socket = socket;
    this.agent = createAgent(options);
    this.client = client;
    this.#options = options;
    this.#isDraining = isDraining;
    this.#headlessAtBytes = socket.bytesRead - socket.readableLength;
    this.#idleAtBytes = socket.readableLength > 0 ? Number.NaN : socket.bytesRead;
    // Ours for the connection's whole life: between Node's server and http-proxy there are moments at which the socket has no
    // other error listener, and a client's reset at such a moment would end the process (#1468).
    socket.on('error', () => undefined);
    // Node's server ends a connection by it behind a last response. One that is destroyed with bytes unread is reset, and a client
    // that was still sending may lose an answer that came early.
    socket.destroySoon = () => this.close();
    socket.on('end', () => this.#onClientEnded());
    socket.on('close', () => this.#onClosed());
  }

  /** The running turn is the connection's last: it drains or its client will send no more, and no other request waits. */
  get isLast(): boolean {
    return (this.#isDraining || this.#hasClientEnded) && this.#turns.length === 1;
  }

  /** As `isLast`, by an answer that then says so: it is kept, whatever comes behind it (RFC 9112 §9.6). */
  tellIfLast(): boolean {
    this.#hasToldEnd ||= this.isLast;
    return this.#hasToldEnd;
  }

  /** No request is taken any more. */
  get isClosing(): boolean {
    return this.#isClosing || this.#isRefusing;
  }

  get hasClientEnded(): boolean {
    return this.#hasClientEnded;
  }

  get isFull(): boolean {
    return this.#turns.length > MAX_WAITING;
  }

  get bytesRead(): number {
    return this.socket.bytesRead;
  }

  /** Nothing is under way, and nothing of a next request has come. */
  get isIdle(): boolean {
    return this.#turns.length === 0 && this.socket.bytesRead === this.#idleAtBytes;
  }

  /**
   * The running request waits for the upstream, and not for the client. A client that has sent too much ahead is not read, so its
   * leaving is not seen: its silence counts, as in the relay.
   */
  get isHeld(): boolean {
    const isTooFarAhead = this.#isHeldBack && this.#turns.at(-1)?.isReceiving !== true;
    return this.#turns[0]?.isHeld === true && !isTooFarAhead;
  }

  /** To be called when a write has to wait or no longer has to, and from time to time. */
  lookForStall(): void {
    this.#options.stalled.look(this);
  }

  /** To be called from time to time. `isInMessage`: Node's parser has a part of a message. Charges an unfinished head. */
  lookForHead(isInMessage: boolean): void {
    if (this.isClosing || !this.#isParsed) return;
    const { account, headBytes } = this.#options;
    const { bytesRead } = this.socket;
    const waitingBytes = this.#waiting('keptBytes');
    if (!isInMessage || this.#turns.at(-1)?.isReceiving === true) {
      this.#headlessAtBytes = bytesRead;
      account.keep(waitingBytes);
      return;
    }
    const unfinishedBytes = Math.min(bytesRead - this.#headlessAtBytes, headBytes);
    if (!account.keep(waitingBytes + unfinishedBytes, this)) this.onHeadEvicted();
  }

  /** Node's parser keeps the head for as long as the socket is open: so the client gets no time to go on sending. */
  onHeadEvicted(): void {
    this.#options.onNoMemory();
    if (this.#turns.length > 0) {
      resetConnection(this.socket);
      return;
    }
    this.refuse(503);
    this.socket.once('finish', () => this.socket.destroy());
  }

  get stalledBytes(): number {
    const { socket } = this;
    if (socket.destroyed) return 0;
    const upstreamBytes = (this.#turns[0]?.upstream ?? this.#tunnel)?.writableLength ?? 0;
    const bytes = socket.writableLength + upstreamBytes;
    return bytes < PAUSING_BYTES ? bytes : bytes + PAUSED_BYTES;
  }

  get sentBytes(): number {
    const upstream = this.#turns[0]?.upstream?.socket ?? this.#tunnel;
    return sentOn(this.socket) + (upstream ? sentOn(upstream) : 0);
  }

  onStalledTooLong(): void {
    this.#options.onNoMemory();
    resetConnection(this.socket);
  }

  /** A next request has to wait. */
  get isBusy(): boolean {
    return this.#turns.length > 0;
  }

  /** Takes the memory for a request of that size, which is to be added then. False without room. */
  hasRoomFor({ keptBytes }: RequestSize): boolean {
    return this.#options.account.keep(this.#waiting('keptBytes') + keptBytes);
  }

  add(turn: Turn, size: RequestSize = NO_SIZE): void {
    this.#turns.push(turn);
    this.#sizes.push(size);
    if (this.#turns.length === 1) {
      turn.begin();
      return;
    }
    // At once: a stream hands over all that it has buffered in one turn of the loop.
    const isTooMuch = this.#waiting('headBytes') > this.#options.headBytes || this.#turns.length > MANY_WAITING;
    if (isTooMuch && this.#isParsed) this.#holdBack();
    // The request's body may follow in the same read: how much of it is known once the parser is through.
    if (this.#isSettling) return;
    this.#isSettling = true;
    process.nextTick(this.#settle);
  }

  /** To be called each time that Node's server has begun to serve the socket: its listeners come first. */
  onServed(): void {
    this.#isParsed = true;
    this.socket.off('resume', this.#onResume);
    this.socket.on('resume', this.#onResume);
  }

  /** Node's server has let go of the socket, and somebody else reads it. */
  onUpgrade(): void {
    this.#isParsed = false;
    this.#isHeldBack = false;
  }

  /** To be called by the running turn when both sides are through with it. */
  done(turn: Turn): void {
    if (this.#turns[0] !== turn) return;
    this.#shift();
    const next = this.#turns[0];
    if (next !== undefined && !this.#hasToldEnd) {
      if (!this.#isClosing) next.begin();
      return;
    }
    this.#idleAtBytes = this.socket.bytesRead;
    if (this.#hasToldEnd || this.#mustEnd || this.#hasClientEnded) this.close();
  }

  /** To be called instead of `done` by a turn that only makes way for the same request, read anew. */
  release(turn: Turn): void {
    if (this.#turns[0] === turn) this.#shift();
  }

  /** Answers say from now on that their connection ends. One whose head has gone without that does not end it. */
  announceEnd(): void {
    this.#isDraining = true;
  }

  /** Ends the connection behind the last request that has come, told or not. */
  endBehindLast(): void {
    this.#isDraining = true;
    this.#mustEnd = true;
  }

  /** The client may have begun to send: see `QUIET_MS` in lifecycle.ts. */
  closeIfIdle(): void {
    if (this.isIdle) this.close();
  }

  /**
   * Answers that the request at the end of the queue cannot be served, when it is its turn, and closes. Nothing behind it is
   * read: nobody may guess where a next request begins.
   */
  refuse(status: RequestProblemStatus, isHead = false): void {
    if (this.isClosing) return;
    this.#isRefusing = true;
    this.#stopParsing();
    const answer = toRawResponse(requestProblem(status), { isHead, isLast: true });
    const last = this.#turns.at(-1);
    if (last?.isReceiving === true) {
      last.cancel();
      if (this.#turns.length === 1) {
        if (last.hasAnswered) this.socket.destroy();
        else this.close(answer);
        return;
      }
      this.#turns.pop();
      this.#sizes.pop();
    }
    // The client is not read until it is refused.
    if (this.#turns.length > 0) this.#holdBack();
    this.add({
      begin: () => this.close(answer),
      cancel: () => undefined,
      onClientEnded: () => undefined,
      isReceiving: false,
      isHeld: true,
      bodyBytes: 0,
      hasAnswered: false,
    });
  }

  /** Answers the running turn's request in place of its response, and closes. */
  refuseNow(status: RequestProblemStatus, isHead: boolean): void {
    this.close(toRawResponse(requestProblem(status), { isHead, isLast: true }));
  }

  /** Ends our side behind `answer` and whatever was written before; the client may still be sending, which is dropped. */
  close(answer?: Buffer): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#isHeldBack = false;
    this.#stopParsing();
    const { socket } = this;
    const { idleTimeoutMs } = this.#options;
    socket.setTimeout(idleTimeoutMs > 0 ? idleTimeoutMs : LINGER_MS, () => socket.destroy());
    if (answer !== undefined) socket.write(answer);
    // Not read until all is written: else a client that sends on and reads nothing would never be silent.
    socket.pause();
    socket.end(() => {
      if (socket.destroyed) return;
      // Node emits no 'drain' any more.
      this.lookForStall();
      this.#timer = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.resume();
    });
  }

  /** Is no HTTP from here on, and whoever passes its bytes on ends it. */
  becomeTunnel(upstream: net.Socket): void {
    this.#tunnel = upstream;
    Reflect.deleteProperty(this.socket, 'destroySoon');
  }

  /** Ends a connection in the middle of a response, so that it cannot be taken for a complete one. */
  breakOff(isUntilClose: boolean): void {
    if (isUntilClose) resetConnection(this.socket);
    else this.close();
  }

  /** The next one is running, or none. */
  #shift(): void {
    this.#turns.shift();
    this.#sizes.shift();
    this.#options.account.keep(this.#waiting('keptBytes'));
    if (this.#turns.length > 1 || !this.#isHeldBack || this.isClosing) return;
    this.#isHeldBack = false;
    this.socket.resume();
  }

  /** Of all requests that wait, with what has come of their bodies. */
  #waiting(of: keyof RequestSize): number {
    let bytes = 0;
    for (const [i, turn] of this.#turns.entries()) if (i > 0) bytes += (this.#sizes[i]?.[of] ?? 0) + turn.bodyBytes;
    return bytes;
  }

  /** Runs after each read that brought a waiting request. */
  readonly #settle = (): void => {
    this.#isSettling = false;
    if (this.#turns.length < 2 || this.isClosing) return;
    // Otherwise Node reads up to a stream's high-water mark; the kernel's buffers are enough.
    if (this.#isParsed && this.#turns.at(-1)?.isReceiving === true) this.#holdBack();
    if (!this.#options.account.keep(this.#waiting('keptBytes'))) {
      this.#options.onNoMemory();
      this.refuse(503);
    }
  };

  #holdBack(): void {
    this.#isHeldBack = true;
    this.socket.pause();
  }

  /** Node reads on by itself at each message's end, and at each 'drain'. */
  readonly #onResume = (): void => {
    if (this.#isHeldBack) this.socket.pause();
  };

  /** Nothing that has come, or is still to come, is parsed from here on: it is dropped as it is read. */
  #stopParsing(): void {
    const { parser } = this.socket as ParsedSocket;
    if (parser?.onIncoming !== undefined) parser.onIncoming = STOP;
  }

  #onClientEnded(): void {
    this.#hasClientEnded = true;
    if (this.#isClosing) return;
    if (this.#turns.length === 0) {
      this.close();
      return;
    }
    this.socket.setTimeout(this.#options.halfClosedTimeoutMs, () => {
      if (!this.#isClosing) this.#options.onHalfClosedTooLong();
      this.socket.destroy();
    });
    if (this.#turns.length === 1) this.#turns[0]?.onClientEnded();
  }

  #onClosed(): void {
    clearTimeout(this.#timer);
    this.#isClosing = true;
    for (const turn of this.#turns.splice(0)) turn.cancel();
    this.#options.account.keep(0);
    this.#options.stalled.remove(this);
    this.agent.destroy();
  }
}

/** What the system has taken. */
function sentOn(socket: net.Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

/** http.request does not ask whether its agent's sockets speak TLS: so http-proxy need not know either. */
function createAgent({ upstreamTls, lookup }: ConnectionOptions): http.Agent {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1, lookup } as http.AgentOptions);
  if (upstreamTls === undefined) return agent;
  return Object.assign(agent, { createConnection: () => upstreamTls.connect(lookup) });
}
