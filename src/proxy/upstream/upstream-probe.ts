import { type Clock, NS_PER_MS } from '../../base/clock.ts';

export interface ProbeParts {
  readonly upstream: { readonly reachability: { readonly kind: string }; tryConnection(): Promise<boolean> };
  /** The number of answers since the start. While it rises, the server is there. */
  readonly readAnswers: () => number;
  readonly isServing: () => boolean;
  /** 0: never. A reload may change it. */
  readonly intervalMs: () => number;
  readonly clock: Clock;
}

const CHECK_MS = 1_000;

/**
 * Opens and closes a connection to the server now and then (`upstream.probe`), so that its loss and its return are
 * noticed without traffic. Never while draining, and not while answers show that the server is there.
 */
export class UpstreamProbe {
  readonly #parts: ProbeParts;
  #timer: NodeJS.Timeout | undefined;
  #isTrying = false;
  #knownNs: number;
  #answers = 0;

  constructor(parts: ProbeParts) {
    this.#parts = parts;
    this.#knownNs = parts.clock.nowNs();
  }

  start(): void {
    this.#timer = setInterval(() => void this.check(), CHECK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Resolves when the connection that it tried, if any, has succeeded or failed. */
  async check(): Promise<void> {
    const { upstream, readAnswers, isServing, intervalMs, clock } = this.#parts;
    const answers = readAnswers();
    const isAnswering = answers !== this.#answers;
    this.#answers = answers;
    const nowNs = clock.nowNs();
    // A lost server is tried in any case: old connections may still be answered while no new one opens.
    if (isAnswering && upstream.reachability.kind === 'reachable') this.#knownNs = nowNs;
    const intervalNs = intervalMs() * NS_PER_MS;
    if (intervalNs === 0 || this.#isTrying || !isServing() || nowNs - this.#knownNs < intervalNs) return;
    this.#isTrying = true;
    this.#knownNs = nowNs;
    await upstream.tryConnection();
    this.#isTrying = false;
  }
}
