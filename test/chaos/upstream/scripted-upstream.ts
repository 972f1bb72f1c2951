/**
 * The application server of a chaos run as a process, `node upstream/scripted-upstream.js <port> <seed> <ledger file>`, which ends with its parent. It verifies every received byte, answers by the plan of each call, and applies the
 * planned faults. Faults of the whole server (refusing, resetting) are orders. Plain sockets, so that no library repairs
 * anything on the way.
 */
import { once } from 'node:events';
import net from 'node:net';
import { obeyOrders } from '../../support/load/orders.ts';
import { reset } from '../../support/load/sockets.ts';
import { Ledger } from '../truth/ledger.ts';
import { ServedConnection } from './served-connection.ts';

export interface UpstreamParts {
  readonly seed: number;
  readonly ledger: Ledger;
}

class ScriptedUpstream {
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

const [port, seed, ledgerFile = ''] = process.argv.slice(2);
const upstream = new ScriptedUpstream({ seed: Number(seed), ledger: new Ledger(ledgerFile) });
await upstream.listen(Number(port));

obeyOrders({
  refuse: () => upstream.refuse(),
  accept: () => upstream.listen(Number(port)),
  'reset-new': (isOn: boolean) => upstream.setResetting(isOn),
  'reset-all': () => upstream.resetAll(),
  list: () => upstream.openCalls,
});
