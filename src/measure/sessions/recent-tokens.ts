import { randomBytes } from 'node:crypto';
import { type HalfSipKey, halfSipHash } from './half-sip-hash.ts';

/** Entries of each of two generations, about 170 bytes each. Above the default of `sessions.max`, so one suffices. */
const MAX_ENTRIES = 16_384;

/** The map key is 30 of 53 bits: V8 boxes larger numbers, and hashes them outside of compiled code. */
const SLOTS = 2 ** 30;

interface Entry {
  /** The other bits of the fingerprint. */
  readonly rest: number;
  readonly token: string;
}

/**
 * Caches the tokens of recent `Authorization` values: clients send the same value with each request, and SHA-256 costs
 * 4 % of a small call (`test/bench/record.bench.ts`). Instead of the value it keeps a keyed fingerprint of 53 bits.
 * Among 10,000 fingerprints the chance of any collision is 1 in 10^8, and finding one deliberately requires the key.
 */
export class RecentTokens {
  readonly #compute: (authorization: string) => string;
  readonly #key: HalfSipKey;
  #young = new Map<number, Entry>();
  #old: ReadonlyMap<number, Entry> = new Map();

  constructor(compute: (authorization: string) => string) {
    const random = randomBytes(8);
    this.#compute = compute;
    this.#key = { k0: random.readInt32LE(0), k1: random.readInt32LE(4) };
  }

  tokenOf(authorization: string): string {
    const fingerprint = halfSipHash(this.#key, authorization);
    const rest = Math.floor(fingerprint / SLOTS);
    const slot = (fingerprint - rest * SLOTS) | 0;
    const young = this.#young.get(slot);
    if (young?.rest === rest) return young.token;
    const old = this.#old.get(slot);
    const entry = old?.rest === rest ? old : { rest, token: this.#compute(authorization) };
    if (this.#young.size >= MAX_ENTRIES) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(slot, entry);
    return entry.token;
  }
}
