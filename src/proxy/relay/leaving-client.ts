/** After a FIN of the client: has it left, or has it only closed its sending side? */

/** Waits between the checks. The kernel of a client that has left refuses what is written to it, by a reset. */
const CHECKS_MS = [2, 8, 40, 150, 300, 500] as const;

export interface ClosingPeer {
  readonly unsentBytes: number;
  /** Closes the connection with an error if the peer has reset it. */
  revealReset(): void;
}

/**
 * Checks for a second after the last byte was written whether the client's kernel refuses it. The owner stops it when
 * the connection closes.
 */
export class LeavingClient {
  readonly #peer: ClosingPeer;
  readonly #onStayed: () => void;
  #timer: NodeJS.Timeout | undefined;

  constructor(peer: ClosingPeer, onStayed: () => void) {
    this.#peer = peer;
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
    if (this.#peer.unsentBytes > 0) {
      this.#peer.revealReset();
      this.#wait(2);
      return;
    }
    this.#peer.revealReset();
    if (check + 1 < CHECKS_MS.length) this.#wait(check + 1);
    // An error of the last check arrives in the next turn.
    else this.#timer = setTimeout(() => this.#onStayed(), 1);
  }
}
