import type { TunnelObserver } from './exchange.ts';

/** Shields a tunnel from its observer: after an exception, the observer only gets the close of the tunnel. */
export class ShieldedTunnel implements TunnelObserver {
  readonly #observer: TunnelObserver;
  readonly #onFailure: (cause: unknown) => void;
  #isObserving = true;
  #isClosed = false;

  constructor(observer: TunnelObserver, onFailure: (cause: unknown) => void) {
    this.#observer = observer;
    this.#onFailure = onFailure;
  }

  onClientBytes(bytes: Buffer): void {
    if (!this.#isObserving) return;
    try {
      this.#observer.onClientBytes(bytes);
    } catch (cause) {
      this.#failed(cause);
    }
  }

  onUpstreamBytes(bytes: Buffer): void {
    if (!this.#isObserving) return;
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
    this.#isObserving = false;
    try {
      this.#observer.onClosed();
    } catch (cause) {
      this.#onFailure(cause);
    }
  }

  #failed(cause: unknown): void {
    this.#isObserving = false;
    this.#onFailure(cause);
  }
}
