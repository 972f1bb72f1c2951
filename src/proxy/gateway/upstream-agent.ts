import http from 'node:http';
import net from 'node:net';
import { keepAlive } from '../upstream/keep-alive.ts';
import type { GatewayServices } from './services.ts';

/**
 * The upstream's side of one client connection: at most one socket. Connections stay one to one, so no client can
 * receive another's response, and logins that are bound to a connection keep working, also across a handover.
 */
export class UpstreamAgent extends http.Agent {
  readonly #services: GatewayServices;
  /** From the relay, until the first request. */
  #handedOver: net.Socket | undefined;
  readonly #bytesRead: number;

  /** `handedOver` is open and idle. */
  constructor(services: GatewayServices, handedOver: net.Socket | undefined) {
    super({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1, lookup: services.lookup } as http.AgentOptions);
    this.#services = services;
    this.#handedOver = handedOver;
    this.#bytesRead = handedOver?.bytesRead ?? 0;
  }

  /** http.request does not check whether its agent's sockets speak TLS, so http-proxy need not know either. */
  override createConnection(options: net.NetConnectOpts): net.Socket {
    const {
      lookup,
      options: { upstreamTls },
    } = this.#services;
    return this.#takeHandedOver() ?? upstreamTls?.connect(lookup) ?? net.connect(options);
  }

  override destroy(): void {
    this.#handedOver?.destroy();
    this.#handedOver = undefined;
    super.destroy();
  }

  /** Bytes since the handover belong to no request, so such a connection is not used. */
  #takeHandedOver(): net.Socket | undefined {
    const socket = this.#handedOver;
    this.#handedOver = undefined;
    if (socket === undefined) return undefined;
    if (socket.destroyed || !socket.readable || !socket.writable || socket.bytesRead !== this.#bytesRead) {
      socket.destroy();
      return undefined;
    }
    keepAlive(socket);
    return socket;
  }
}
