/**
 * One budget (`limits.memoryBytes`) for all bytes that are kept because of what clients send. Code that keeps such
 * bytes takes them from here first, and keeps nothing if refused. docs/limits.md says what happens then for each
 * kind.
 */

import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';

export const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;

/**
 * `bodies`: bodies and WebSocket messages that are being read.
 * `windows`: compression windows of WebSockets.
 * `requests`: unfinished heads, pipelined requests, and heads of WebSocket handshakes that wait.
 * `ahead`: bytes that follow an upgrade request which is not answered yet.
 * `names`: Comet requests and calls that wait for their answers, and monitorings.
 * `running`: what running requests keep; bounded by the connections.
 * `stalled`: answers that clients do not read, and bodies that upstreams do not read.
 */
export const MEMORY_KINDS = ['bodies', 'windows', 'requests', 'ahead', 'names', 'running', 'stalled'] as const;

export type MemoryKind = (typeof MEMORY_KINDS)[number];

/** The largest share of one kind, so that no kind can starve the others. */
const SHARE_OF_A_KIND = 1 / 2;

const NONE: Readonly<Record<MemoryKind, number>> = {
  bodies: 0,
  windows: 0,
  requests: 0,
  ahead: 0,
  names: 0,
  running: 0,
  stalled: 0,
};

export class MemoryBudget {
  /**
   * A reload may change it. If the new value is below `usedBytes`, every `take` is refused until enough is given back.
   */
  maxBytes: number;
  readonly #used: Record<MemoryKind, number> = { ...NONE };
  readonly #refusals: Record<MemoryKind, number> = { ...NONE };
  #usedBytes = 0;

  constructor(maxBytes: number = DEFAULT_MEMORY_BYTES) {
    this.maxBytes = maxBytes;
  }

  get usedBytes(): number {
    return this.#usedBytes;
  }

  /** Bytes kept now. Has an entry for every kind. */
  get used(): Readonly<Record<MemoryKind, number>> {
    return this.#used;
  }

  /** Maximum that `take` grants to one kind. */
  get shareBytes(): number {
    return this.maxBytes * SHARE_OF_A_KIND;
  }

  /** Refused attempts, including those that succeed after an eviction. */
  get refusals(): Readonly<Record<MemoryKind, number>> {
    return this.#refusals;
  }

  /** Takes all of `bytes`, or takes nothing and returns false. */
  take(kind: MemoryKind, bytes: number): boolean {
    const { shareBytes } = this;
    // Stalled writes may exceed their share for some seconds. The excess does not reduce what other kinds get.
    const excessBytes = Math.max(0, this.#used.stalled - shareBytes);
    const isTooMuch = this.#usedBytes - excessBytes + bytes > this.maxBytes;
    if (isTooMuch || this.#used[kind] + bytes > shareBytes) {
      this.refuse(kind);
      return false;
    }
    this.#add(kind, bytes);
    return true;
  }

  refuse(kind: MemoryKind): void {
    this.#refusals[kind] += 1;
  }

  /** Takes `bytes` without a check: a small amount per connection, or one that the caller bounds itself. */
  takeAnyway(kind: MemoryKind, bytes: number): void {
    this.#add(kind, bytes);
  }

  giveBack(kind: MemoryKind, bytes: number): void {
    this.#add(kind, -bytes);
  }

  #add(kind: MemoryKind, bytes: number): void {
    this.#used[kind] += bytes;
    this.#usedBytes += bytes;
  }
}

export const MEMORY_METRICS: readonly MetricDescription<MemoryBudget>[] = [
  gauge(
    'd2_sidecar_kept_bytes',
    'Bytes kept for clients, by kind; bounded by limits.memoryBytes.',
    ({ used }) => used,
    'kind',
  ),
  counter(
    'd2_sidecar_kept_bytes_refusals_total',
    'Attempts to keep something that limits.memoryBytes refused, by kind; some succeed after an eviction.',
    ({ refusals }) => refusals,
    'kind',
  ),
];
