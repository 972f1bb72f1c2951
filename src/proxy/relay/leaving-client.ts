/** After a FIN of the client: has it left, or has it only closed its sending side? */

import type { Socket } from 'node:net';
import { revealReset } from '../../tls/connection-end.ts';

/** Waits between the checks. The kernel of a client that has left refuses what is written to it, by a reset. */
const CHECKS_MS = [2, 8, 40, 150, 300, 500] as const;

/**
 * Checks for a second after the last byte was written whether the client's kernel refuses it. The owner stops it when
 * the connection closes.
 */
export class LeavingClient {
  readonly #socket: Socket;
  readonly #onStayed: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, onStayed: () => void) {
    this.#socket = socket;
    this.#onStayed = onStayed;
    this.#wait(0);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(check: number): void {
    this.#timer = setTimeout(() => this.#check(check), CHECKS_MS[check]);
  }

  #check(check: number): void {
    // A slow reader gets its second after the last byte.
    const next = this.#socket.writableLength > 0 ? 2 : check + 1;
    revealReset(this.#socket);
    if (next < CHECKS_MS.length) this.#wait(next);
    // An error of the last check arrives in the next turn.
    else this.#timer = setTimeout(() => this.#onStayed(), 1);
  }
}
