import type { ClientRequest } from 'node:http';
import net from 'node:net';
import { keepAlive } from '../upstream/keep-alive.ts';
import type { GatewayServices } from './services.ts';

/**
 * The upstream's side of one client connection: at most one socket. Connections stay one to one, so no client can
 * receive another's response, and logins that are bound to a connection keep working, also across a handover.
 *
 * It has what Node's client uses of an http.Agent, which keeps books on many sockets: that took a tenth of a small call.
 */
export class UpstreamAgent {
  /** Node's client reads these three: its connection can be used again, and needs no `https:`. */
  readonly keepAlive = true;
  readonly maxSockets = 1;
  readonly protocol = 'http:';
  readonly #services: GatewayServices;
  #socket: net.Socket | undefined;
  /** Bytes that the idle socket had read: more belong to no request, so it is not used again. */
  #idleAtBytes = 0;
  #isIdle = true;
  /** Node ends a request before it frees the socket, so the next one may come in between. */
  #waiting: ClientRequest | undefined;

  /** `handedOver` is the relay's connection; open and idle. */
  constructor(services: GatewayServices, handedOver: net.Socket | undefined) {
    this.#services = services;
    if (handedOver === undefined) return;
    this.#idleAtBytes = handedOver.bytesRead;
    this.#own(handedOver);
  }

  /** Node's client calls this for each request. */
  addRequest(request: ClientRequest): void {
    if (this.#socket !== undefined && !this.#isIdle) {
      this.#waiting = request;
      return;
    }
    const socket = this.#idleSocket() ?? this.#own(this.#connect());
    this.#isIdle = false;
    request.onSocket(socket);
  }

  /** TCP keep-alive for a connection that has lived for a while. */
  lookAfter(): void {
    if (this.#socket?.connecting === false) keepAlive(this.#socket);
  }

  destroy(): void {
    this.#waiting = undefined;
    this.#socket?.destroy();
  }

  #idleSocket(): net.Socket | undefined {
    const socket = this.#socket;
    if (socket === undefined) return undefined;
    const isUsable = !socket.destroyed && socket.readable && socket.writable;
    if (isUsable && socket.bytesRead === this.#idleAtBytes) return socket;
    this.#socket = undefined;
    socket.destroy();
    return undefined;
  }

  #connect(): net.Socket {
    const { names, options } = this.#services;
    const { upstreamTls, upstreamHost: host, upstreamPort: port } = options;
    const dialOptions = names.dialOptions(options.connectTimeoutMs);
    const socket = upstreamTls?.connect(dialOptions) ?? net.connect({ host, port, noDelay: true, ...dialOptions });
    names.watch(socket);
    return socket;
  }

  #own(socket: net.Socket): net.Socket {
    this.#socket = socket;
    // Between requests it has no other error listener.
    socket.on('error', () => undefined);
    socket.on('free', () => this.#onFree(socket));
    // It becomes a tunnel and belongs to its exchange.
    socket.once('agentRemove', () => this.#forget(socket));
    socket.once('close', () => this.#forget(socket));
    return socket;
  }

  /** The socket's request is over; Node frees only sockets that can be used again. */
  #onFree(socket: net.Socket): void {
    if (socket !== this.#socket) return;
    // As Node's agent does: else the socket would keep the whole exchange in memory until the next one.
    (socket as unknown as { _httpMessage: ClientRequest | null })._httpMessage = null;
    this.#isIdle = true;
    this.#idleAtBytes = socket.bytesRead;
    this.#serveWaiting();
  }

  #forget(socket: net.Socket): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#serveWaiting();
  }

  #serveWaiting(): void {
    const request = this.#waiting;
    this.#waiting = undefined;
    if (request !== undefined) this.addRequest(request);
  }
}
