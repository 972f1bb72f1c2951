/**
 * Listening sockets that a service manager has opened and passes on: LISTEN_FDS, LISTEN_PID and LISTEN_FDNAMES, as in
 * sd_listen_fds(3). They outlive the process: while it restarts, clients wait in the kernel.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import ipaddr from 'ipaddr.js';
import { attempt } from '../base/attempt.ts';
import { ConfigError } from '../base/errors.ts';
import { platform } from '../base/platform/platform.ts';
import type { GivenSocket, HostPort } from '../config/host-port.ts';

const FIRST_DESCRIPTOR = 3;
const MAX_SOCKETS = 64;
const MONITOR = 'monitor';
const TABLES = [`${platform.procPath}/self/net/tcp`, `${platform.procPath}/self/net/tcp6`];
/** As in the kernel's include/net/tcp_states.h. */
const LISTENING = '0A';

/**
 * Empty without sockets for this process. Removes the variables from `env`, so that no child takes them for its own. Throws
 * ConfigError for a descriptor that is no listening TCP socket.
 */
export function takeGivenSockets(
  env: Record<string, string | undefined>,
  pid: number = process.pid,
): readonly GivenSocket[] {
  const { LISTEN_FDS = '', LISTEN_PID, LISTEN_FDNAMES = '' } = env;
  for (const name of ['LISTEN_FDS', 'LISTEN_PID', 'LISTEN_FDNAMES']) delete env[name];
  if (LISTEN_PID !== String(pid) || LISTEN_FDS === '') return [];
  const count = /^\d{1,3}$/.test(LISTEN_FDS) ? Number(LISTEN_FDS) : Number.NaN;
  if (!(count <= MAX_SOCKETS)) {
    throw new ConfigError(`LISTEN_FDS: got ${JSON.stringify(LISTEN_FDS.slice(0, 80))}, expected 0 to ${MAX_SOCKETS}`);
  }
  const names = LISTEN_FDNAMES.split(':');
  const sockets = Array.from({ length: count }, (_, index): GivenSocket => {
    const section = names[index] === MONITOR ? 'monitor' : 'listen';
    const fd = FIRST_DESCRIPTOR + index;
    return { section, fd, address: addressOf(fd) };
  });
  if (sockets.filter(({ section }) => section === 'monitor').length > 1)
    throw new ConfigError('LISTEN_FDNAMES: two sockets are named monitor, expected one');
  return sockets;
}

function addressOf(fd: number): HostPort {
  const target = attempt(() => readlinkSync(`${platform.procPath}/self/fd/${fd}`)) ?? '';
  const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
  for (const table of inode === undefined ? [] : TABLES) {
    const lines = attempt(() => readFileSync(table, 'latin1').split('\n').slice(1)) ?? [];
    for (const line of lines) {
      // E.g. `0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 41235 …` (proc_net_tcp.rst).
      const [, local = '', , state, , , , , , found] = line.trim().split(/\s+/);
      if (found === inode && state === LISTENING) return parseAddress(local);
    }
  }
  throw new ConfigError(`LISTEN_FDS: descriptor ${fd} is no listening TCP socket`);
}

/** `0100007F:1F90` is 127.0.0.1:8080: each word of 32 bits is in the byte order of the machine, here little-endian. */
function parseAddress(text: string): HostPort {
  const [hex = '', port = ''] = text.split(':');
  const bytes = Buffer.from(hex, 'hex').swap32();
  return { host: ipaddr.fromByteArray([...bytes]).toString(), port: Number.parseInt(port, 16) };
}
