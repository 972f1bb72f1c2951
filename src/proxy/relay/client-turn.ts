import { addressKeyOf } from '../../limits/address-key.ts';
import type { HeavyWork } from '../../limits/heavy-work.ts';

/** Smaller heads are read at once. */
const HEAVY_HEAD_BYTES = 4 * 1024;
/** A record of TLS has at most 16 KiB. */
const HEAVY_READ_BYTES = 8 * 1024;

/** The turns of one connection among those with heavy work. */
export class ClientTurn {
  readonly #work: HeavyWork;
  readonly #client: string;
  readonly #onTurn: () => void;
  /** Nothing more is read or begun until `onTurn`. */
  isWaiting = false;
  #isGranted = false;
  #hasEnded = false;

  constructor(work: HeavyWork, client: string, onTurn: () => void) {
    this.#work = work;
    this.#client = client;
    this.#onTurn = onTurn;
  }

  /** Call before a read of `bytes` is handled, and pass the result to `endRead`. */
  beginRead(bytes: Buffer): number {
    return bytes.length < HEAVY_READ_BYTES ? 0 : this.#work.nowNs();
  }

  /** True if the connection has to wait before its next read. */
  endRead(sinceNs: number): boolean {
    if (sinceNs === 0 || this.isWaiting || this.#hasEnded || this.#work.mayRun) return false;
    this.#wait(this.#work.nowNs() - sinceNs);
    return true;
  }

  /** True if what has come has to wait: a head of `headBytes`, or with `isDear` one whose request is dear. */
  mustWait(headBytes: number, isDear = false): boolean {
    if (this.isWaiting) return true;
    if (this.#isGranted || (!isDear && headBytes < HEAVY_HEAD_BYTES) || this.#work.mayRun) return false;
    this.#wait(0);
    return true;
  }

  /** The connection is over, or has another owner: it gets no turn any more. */
  end(): void {
    this.#hasEnded = true;
  }

  #wait(costNs: number): void {
    this.isWaiting = true;
    this.#work.wait(addressKeyOf(this.#client), costNs, this.#run);
  }

  readonly #run = (): void => {
    this.isWaiting = false;
    if (this.#hasEnded) return;
    this.#isGranted = true;
    try {
      this.#onTurn();
    } finally {
      this.#isGranted = false;
    }
  };
}
