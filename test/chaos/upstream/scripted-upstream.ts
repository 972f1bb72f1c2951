/**
 * The application server of a chaos run as a process: `node upstream/scripted-upstream.js <port> <seed> <ledger file>`. It ends
 * with its parent. It verifies every received byte, answers by the plan of each call, and applies the planned faults. Faults of
 * the whole server (refusing, resetting) are orders. Plain sockets, so that no library repairs anything on the way.
 */
import { once } from 'node:events';
import net from 'node:net';
import { obeyOrders } from '../../support/load/orders.ts';
import { reset } from '../../support/load/sockets.ts';
import { openLedger } from '../truth/ledger.ts';
import { serveConnection } from './served-connection.ts';

const [port, seed, ledgerFile = ''] = process.argv.slice(2);
const ledger = openLedger(ledgerFile);
const connections = new Map<net.Socket, () => string>();
let server: net.Server;
let isResetting = false;

async function listen(): Promise<void> {
  server = net.createServer({ allowHalfOpen: true, noDelay: true }, accept);
  await once(server.listen({ port: Number(port), host: '127.0.0.1', backlog: 4_096 }), 'listening');
}

function accept(socket: net.Socket): void {
  socket.on('error', () => undefined);
  if (isResetting) {
    reset(socket);
    return;
  }
  connections.set(socket, serveConnection(socket, Number(seed), ledger));
  socket.on('close', () => connections.delete(socket));
}

await listen();

obeyOrders({
  refuse: () => void server.close(),
  accept: listen,
  'reset-new': (isOn: boolean) => {
    isResetting = isOn;
  },
  'reset-all': () => connections.forEach((_, socket) => void reset(socket)),
  /** For each open connection the id of its last call, e.g. `r17`, and its progress. */
  list: () => Array.from(connections.values(), (describe) => describe()),
});
