/**
 * One budget (`limits.memoryBytes`) for all bytes that are kept because of what clients send. Code that keeps such
 * bytes takes them from here first, and keeps nothing if refused. docs/limits.md says what happens then for each
 * kind.
 */

import { counter, gauge, type MetricDescription } from '../base/metric-description.ts';

const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;

/**
 * `bodies`: bodies and WebSocket messages that are being read.
 * `windows`: compression windows of WebSockets.
 * `requests`: unfinished heads, pipelined requests, and heads of WebSocket handshakes that wait.
 * `ahead`: bytes that follow an upgrade request which is not answered yet.
 * `names`: Comet requests and calls that wait for their answers, and monitorings.
 * `running`: what running requests keep; bounded by the connections.
 * `stalled`: answers that clients do not read, and bodies that upstreams do not read.
 */
export type MemoryKind = 'bodies' | 'windows' | 'requests' | 'ahead' | 'names' | 'running' | 'stalled';

/** The largest share of one kind, so that no kind can starve the others. */
const SHARE_OF_A_KIND = 1 / 2;

function noBytes(): Record<MemoryKind, number> {
  return { bodies: 0, windows: 0, requests: 0, ahead: 0, names: 0, running: 0, stalled: 0 };
}

export class MemoryBudget {
  /** A reload may change it. Below `usedBytes`, every `take` is refused until enough is given back. */
  maxBytes: number;
  /** Bytes kept now. */
  readonly used = noBytes();
  /** Refusals, even if an eviction then made room, and resets. */
  readonly refusals = noBytes();
  usedBytes = 0;

  constructor(maxBytes: number = DEFAULT_MEMORY_BYTES) {
    this.maxBytes = maxBytes;
  }

  /** Maximum that `take` grants to one kind. */
  get shareBytes(): number {
    return this.maxBytes * SHARE_OF_A_KIND;
  }

  /** Takes all of `bytes`, or takes nothing and returns false. */
  take(kind: MemoryKind, bytes: number): boolean {
    const { shareBytes } = this;
    // Stalled writes may exceed their share for some seconds. The excess does not reduce what other kinds get.
    const excessBytes = Math.max(0, this.used.stalled - shareBytes);
    const isTooMuch = this.usedBytes - excessBytes + bytes > this.maxBytes;
    if (isTooMuch || this.used[kind] + bytes > shareBytes) {
      this.refuse(kind);
      return false;
    }
    this.takeAnyway(kind, bytes);
    return true;
  }

  refuse(kind: MemoryKind): void {
    this.refusals[kind] += 1;
  }

  /** Takes `bytes` without a check: a small amount per connection, or one that the caller bounds itself. */
  takeAnyway(kind: MemoryKind, bytes: number): void {
    this.used[kind] += bytes;
    this.usedBytes += bytes;
  }

  giveBack(kind: MemoryKind, bytes: number): void {
    this.takeAnyway(kind, -bytes);
  }
}

export const MEMORY_METRICS: readonly MetricDescription<MemoryBudget>[] = [
  gauge('d2_sidecar_kept_bytes', 'Bytes kept for clients, within limits.memoryBytes.', 'used', 'kind'),
  counter(
    'd2_sidecar_kept_bytes_refusals_total',
    'Attempts to keep something that limits.memoryBytes refused; some succeed after an eviction.',
    'refusals',
    'kind',
  ),
];
