/**
 * Finds silent connections. A timer on each socket costs some 5 % of a small call: Node restarts it with every read and
 * write. So a socket gets one only after nothing has moved for a while.
 */
import type { Socket } from 'node:net';
import { type Member, Roster } from '../../base/roster.ts';

/** The longest interval between two checks. A timeout may be noticed later by this much. */
const MAX_CHECK_MS = 5_000;
const CHECKS_PER_TIMEOUT = 4;

export interface Watched extends Member {
  /** The idle timeout in ms, the same for all; 0: none. */
  readonly idleTimeoutMs: number;
  check(everyMs: number): void;
}

export class SilenceWatch {
  readonly #watched = new Roster<Watched>();
  #timer: NodeJS.Timeout | undefined;

  add(watched: Watched): void {
    this.#watched.add(watched);
    if (this.#timer === undefined) this.#checkAfter(chooseCheckMs(watched.idleTimeoutMs));
  }

  delete(watched: Watched): void {
    this.#watched.delete(watched);
  }

  #checkAfter(everyMs: number): void {
    this.#timer = setTimeout(() => this.#check(everyMs), everyMs).unref();
  }

  #check(everyMs: number): void {
    this.#timer = undefined;
    let last: Watched | undefined;
    for (const watched of this.#watched) {
      watched.check(everyMs);
      last = watched;
    }
    // A reload may have changed the timeout.
    if (last !== undefined) this.#checkAfter(chooseCheckMs(last.idleTimeoutMs));
  }
}

function chooseCheckMs(idleTimeoutMs: number): number {
  return idleTimeoutMs === 0 ? MAX_CHECK_MS : Math.min(MAX_CHECK_MS, Math.ceil(idleTimeoutMs / CHECKS_PER_TIMEOUT));
}

const KEEP_ALIVE_DELAY_S = 60;

/**
 * TCP keep-alive detects dead peers of held long polls. Only for connections that have lived for some seconds: four
 * system calls would be a tenth of what a connection for one request costs. `socket.setKeepAlive` of Node 26 would add
 * properties to the socket. Once sockets have more than four sets of properties ("shapes"), V8 looks each property up in
 * a table, which costs 2 % of a small call. The socket must be connected.
 */
export function keepAlive(socket: Socket): void {
  const { _handle: handle } = socket as unknown as { _handle?: { setKeepAlive?: typeof socket.setKeepAlive } | null };
  if (typeof handle?.setKeepAlive === 'function') handle.setKeepAlive(true, KEEP_ALIVE_DELAY_S);
  else socket.setKeepAlive(true, KEEP_ALIVE_DELAY_S * 1000);
}
