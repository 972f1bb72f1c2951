import http from 'node:http';
import type net from 'node:net';
import type { ClientConnection } from '../exchange/exchange.ts';
import { type RequestProblemStatus, requestProblem, toRawResponse } from '../exchange/problem.ts';
import { resetConnection } from '../tls/reset.ts';
import type { UpstreamTls } from '../tls/upstream-tls.ts';
import type { Turn } from './turn.ts';

/** How long a client may go on sending into a connection that we have closed, so that it can read the answer first. */
const LINGER_MS = 2_000;

/** Requests that may wait behind one that is being served. One read holds up to about 1,500; nobody means that. */
export const MAX_WAITING = 256;

export interface ConnectionOptions {
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

/** One client's connection in the gateway, with the upstream connection that belongs to it and to nobody else. */
export class ServedConnection {
  readonly socket: net.Socket;
  readonly client: ClientConnection;
  /**
   * An agent of its own, for at most one socket: connections stay one to one, so no client can receive another's response,
   * and logins that hang on a connection keep working.
   */
  readonly agent: http.Agent;
  readonly #options: ConnectionOptions;
  /** The first one is running. */
  readonly #turns: Turn[] = [];
  #isDraining: boolean;
  /** The client has been told, or has to be left without being told. */
  #hasToldEnd = false;
  #mustEnd = false;
  #isClosing = false;
  #isRefusing = false;
  #hasClientEnded = false;
  #timer: NodeJS.Timeout | undefined;
  /** `socket.bytesRead` when the connection became idle: nothing of a next request has come while it is the same. */
  #idleAtBytes: number;

  constructor(socket: net.Socket, client: ClientConnection, options: ConnectionOptions, isDraining: boolean) {
    this.socket = socket;
    this.agent = createAgent(options);
    this.client = client;
    this.#options = options;
    this.#isDraining = isDraining;
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

  /** The running request waits for the upstream, and not for the client. */
  get isHeld(): boolean {
    return this.#turns[0]?.isHeld === true;
  }

  add(turn: Turn): void {
    this.#turns.push(turn);
    if (this.#turns.length === 1) turn.begin();
  }

  /** To be called by the running turn when both sides are through with it. */
  done(turn: Turn): void {
    if (this.#turns[0] !== turn) return;
    this.#turns.shift();
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
    if (this.#turns[0] === turn) this.#turns.shift();
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
    }
    this.add({
      begin: () => this.close(answer),
      cancel: () => undefined,
      onClientEnded: () => undefined,
      isReceiving: false,
      isHeld: true,
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
    const { socket } = this;
    const { idleTimeoutMs } = this.#options;
    socket.setTimeout(idleTimeoutMs > 0 ? idleTimeoutMs : LINGER_MS, () => socket.destroy());
    if (answer !== undefined) socket.write(answer);
    // Not read until all is written: else a client that sends on and reads nothing would never be silent.
    socket.pause();
    socket.end(() => {
      if (socket.destroyed) return;
      this.#timer = setTimeout(() => socket.destroy(), LINGER_MS);
      socket.resume();
    });
  }

  /** Is no HTTP from here on, and whoever passes its bytes on ends it. */
  becomeTunnel(): void {
    Reflect.deleteProperty(this.socket, 'destroySoon');
  }

  /** Ends a connection in the middle of a response, so that it cannot be taken for a complete one. */
  breakOff(isUntilClose: boolean): void {
    if (isUntilClose) resetConnection(this.socket);
    else this.close();
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
    this.agent.destroy();
  }
}

/** http.request does not ask whether its agent's sockets speak TLS: so http-proxy need not know either. */
function createAgent({ upstreamTls, lookup }: ConnectionOptions): http.Agent {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1, lookup } as http.AgentOptions);
  if (upstreamTls === undefined) return agent;
  return Object.assign(agent, { createConnection: () => upstreamTls.connect(lookup) });
}
