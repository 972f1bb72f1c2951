import type { TunnelObserver } from './exchange.ts';

/** Shields a tunnel from its observer: after an exception, the observer is only told when the tunnel closes. */
export class ShieldedTunnel implements TunnelObserver {
  readonly #observer: TunnelObserver;
  readonly #onFailure: (cause: unknown) => void;
  #isTold = true;
  #isClosed = false;

  constructor(observer: TunnelObserver, onFailure: (cause: unknown) => void) {
    this.#observer = observer;
    this.#onFailure = onFailure;
  }

  onClientBytes(bytes: Buffer): void {
    if (!this.#isTold) return;
    try {
      this.#observer.onClientBytes(bytes);
    } catch (cause) {
      this.#failed(cause);
    }
  }

  onUpstreamBytes(bytes: Buffer): void {
    if (!this.#isTold) return;
    try {
      this.#observer.onUpstreamBytes(bytes);
    } catch (cause) {
      this.#failed(cause);
    }
  }

  /** A second call is ignored. */
  onClosed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#isTold = false;
    try {
      this.#observer.onClosed();
    } catch (cause) {
      this.#onFailure(cause);
    }
  }

  #failed(cause: unknown): void {
    this.#isTold = false;
    this.#onFailure(cause);
  }
}
