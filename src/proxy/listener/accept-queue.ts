/** What waits at a listener of ours in the kernel, as Linux tells it in /proc/net (proc_net_tcp.rst and snmp_counter.rst of its documentation). */
import { readFileSync } from 'node:fs';

export interface AcceptQueue {
  /** Connections that are established and not taken yet, that of the given client included. */
  readonly length: number;
  /** Whether a handshake lacks the client's last packet: its client may take it for established already, and have sent its request. */
  readonly hasHalfOpen: boolean;
}

interface Row {
  /** E.g. `0100007F`. */
  readonly address: string;
  readonly port: number;
  readonly remotePort: number;
  readonly state: string;
  readonly rxQueue: number;
}

/** As in the kernel's include/net/tcp_states.h. */
const ESTABLISHED = '01';
const SYN_RECV = '03';
const LISTEN = '0A';
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const COUNTERS = '/proc/net/netstat';

/**
 * The queue of the listener on `port` that a client of this machine reached from `clientPort`; `undefined` where that client has
 * not come through, or nothing is known. Blocks for 3 µs a connection of this machine (or pod), since the kernel prints them all.
 */
export function readAcceptQueue(port: number, clientPort: number): AcceptQueue | undefined {
  for (const table of TABLES) {
    const rows = readRows(table, port);
    const client = rows.find(({ remotePort, state }) => state === ESTABLISHED && remotePort === clientPort);
    if (client === undefined) continue;
    const listeners = rows.filter(({ state }) => state === LISTEN);
    // The kernel, too, gives a connection to the listener that is bound more closely.
    const listener =
      listeners.find(({ address }) => address === client.address) ??
      listeners.find(({ address }) => /^0+$/.test(address));
    if (listener === undefined) continue;
    return { length: listener.rxQueue, hasHalfOpen: rows.some(({ state }) => state === SYN_RECV) };
  }
  return undefined;
}

/**
 * How many handshakes the kernel has begun without keeping anything of them, of all listeners, since it has run. Of those that are
 * half-open no table tells.
 */
export function readCookiesSent(): number {
  const [names = [], values = []] = read(COUNTERS)
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return Number(values[names.indexOf('SyncookiesSent')] ?? 0);
}

/** Those whose own port that is. */
function readRows(table: string, port: number): Row[] {
  const hexPort = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return read(table)
    .split('\n')
    .filter((line) => line.includes(hexPort))
    .map(toRow)
    .filter((row) => row.port === port);
}

/** E.g. `  0: 0100007F:A351 00000000:0000 0A 00000000:00000001 …`: addresses, state, bytes to send and (of a listener) its queue. */
function toRow(line: string): Row {
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

/** Empty where there is no such file. */
function read(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
