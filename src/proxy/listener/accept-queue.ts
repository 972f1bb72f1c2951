/** The kernel's accept queue of our listener, from /proc/net (see Linux's proc_net_tcp.rst and snmp_counter.rst). */
import { readFileSync } from 'node:fs';
import { platform } from '../../base/platform/platform.ts';

export interface AcceptQueue {
  /** Established connections that are not accepted yet, including that of the given client. */
  readonly length: number;
  /** A handshake lacks the client's final ACK: the client may believe that it is connected, and have sent data. */
  readonly hasHalfOpen: boolean;
}

/** TCP states as in the kernel's include/net/tcp_states.h. */
const ESTABLISHED = '01';
const SYN_RECV = '03';
const LISTEN = '0A';
const TABLES = [`${platform.procPath}/net/tcp`, `${platform.procPath}/net/tcp6`];
const COUNTERS = `${platform.procPath}/net/netstat`;

/**
 * Of the listener on `port` that a client of this machine reached from `clientPort`. Undefined if that client is not
 * connected, or without /proc. Blocks for 3 µs per connection of this machine (or pod).
 */
export function readAcceptQueue(port: number, clientPort: number): AcceptQueue | undefined {
  for (const table of TABLES) {
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
  const [names = [], values = []] = read(COUNTERS)
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
    .map(parseRow)
    .filter((row) => row.port === port);
}

/** E.g. `0: 0100007F:A351 00000000:0000 0A 00000000:00000001 …`: addresses, state, bytes to send, listener's queue. */
function parseRow(line: string) {
  const [, local = '', remote = '', state = '', queues = ''] = line.trim().split(/\s+/, 5);
  const [address = '', port = ''] = local.split(':');
  const fromHex = (text = '') => Number.parseInt(text, 16);
  return {
    address,
    port: fromHex(port),
    remotePort: fromHex(remote.split(':')[1]),
    state,
    rxQueue: fromHex(queues.split(':')[1]),
  };
}

function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
