import { type Clock, NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import type { Upstream } from './upstream.ts';

export interface ExchangeCounts {
  readonly exchanges: { readonly completed: number; readonly failed: number };
  /** Completed ones whose answer has status 400. */
  readonly badRequests: number;
}

type Counts = ExchangeCounts['exchanges'] & Pick<ExchangeCounts, 'badRequests'>;

export interface ProbeParts {
  readonly upstream: Pick<Upstream, 'tryConnection' | 'tryTls' | 'noteAnswer'> & {
    readonly reachability: { readonly kind: string };
  };
  readonly counts: ExchangeCounts;
  readonly isServing: () => boolean;
  /** 0: never. A reload may change it. */
  readonly intervalMs: () => number;
  readonly clock: Clock;
}

const CHECK_MS = 1_000;
const TLS_INTERVAL_NS = 60 * NS_PER_S;

/**
 * Opens and closes a connection to the server now and then (`upstream.probe`), so that its loss and return are noticed
 * without traffic. Not while draining, nor while answers show that it is there. If all answers are such as a server
 * with TLS gives to plain HTTP (400, or none that can be read), it also tries TLS, once a minute.
 */
export class UpstreamProbe {
  readonly #parts: ProbeParts;
  #timer: NodeJS.Timeout | undefined;
  #isTrying = false;
  #knownNs: number;
  #triedTlsNs = Number.NEGATIVE_INFINITY;
  #counted: Counts = { completed: 0, failed: 0, badRequests: 0 };

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

  /** Resolves when the connections that it tried, if any, have succeeded or failed. */
  async check(): Promise<void> {
    const { upstream, isServing, intervalMs, clock } = this.#parts;
    const { completed, badRequests, failed } = this.#countNew();
    const nowNs = clock.nowNs();
    // A lost server is tried in any case: old connections may still be answered while no new one opens.
    if (completed > 0 && upstream.reachability.kind === 'reachable') this.#knownNs = nowNs;
    const isClear = completed > badRequests;
    if (isClear) upstream.noteAnswer();
    const intervalNs = intervalMs() * NS_PER_MS;
    if (intervalNs === 0 || this.#isTrying || !isServing()) return;
    this.#isTrying = true;
    if (nowNs - this.#knownNs >= intervalNs) {
      this.#knownNs = nowNs;
      await upstream.tryConnection();
    }
    if (!isClear && badRequests + failed > 0 && nowNs - this.#triedTlsNs >= TLS_INTERVAL_NS) {
      this.#triedTlsNs = nowNs;
      await upstream.tryTls();
    }
    this.#isTrying = false;
  }

  #countNew(): Counts {
    const { exchanges, badRequests } = this.#parts.counts;
    const now = { completed: exchanges.completed, failed: exchanges.failed, badRequests };
    const before = this.#counted;
    this.#counted = now;
    return {
      completed: now.completed - before.completed,
      failed: now.failed - before.failed,
      badRequests: now.badRequests - before.badRequests,
    };
  }
}
