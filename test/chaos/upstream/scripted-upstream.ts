/**
 * The application server of a chaos run: verifies every received byte, answers by the plan of each call, and applies the
 * planned faults. Faults of the whole server (refusing, resetting) are commands. Plain sockets, so that no library repairs
 * anything on the way.
 */
import { once } from 'node:events';
import net from 'node:net';
import { reset } from '../../support/load/sockets.ts';
import type { Ledger } from '../truth/ledger.ts';
import { ServedConnection } from './served-connection.ts';

export interface UpstreamParts {
  readonly seed: number;
  readonly ledger: Ledger;
}

export class ScriptedUpstream {
  readonly #parts: UpstreamParts;
  readonly #connections = new Map<net.Socket, ServedConnection>();
  #server: net.Server | undefined;
  #isResetting = false;

  constructor(parts: UpstreamParts) {
    this.#parts = parts;
  }

  /** For each open connection the id of its last call, e.g. `r17`, and its progress. */
  get openCalls(): string[] {
    return [...this.#connections.values()].map((connection) => connection.condition);
  }

  async listen(port: number): Promise<void> {
    const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket));
    this.#server = server.listen({ port, host: '127.0.0.1', backlog: 4_096 });
    await once(server, 'listening');
  }

  refuse(): void {
    this.#server?.close();
  }

  setResetting(isResetting: boolean): void {
    this.#isResetting = isResetting;
  }

  resetAll(): void {
    for (const socket of this.#connections.keys()) reset(socket);
  }

  #accept(socket: net.Socket): void {
    socket.on('error', () => undefined);
    if (this.#isResetting) {
      reset(socket);
      return;
    }
    const connection = new ServedConnection(socket, this.#parts);
    this.#connections.set(socket, connection);
    socket.on('close', () => this.#connections.delete(socket));
    connection.serve();
  }
}
