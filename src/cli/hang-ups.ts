import type { SignalSource } from './stop-signals.ts';

/** SIGHUP, from the very start: one that comes while the sidecar starts is heard afterwards, and ends nothing. */
export class HangUps {
  readonly #signals: SignalSource;
  readonly #onHangUp = () => this.#heard();
  #isPending = false;
  #handler: (() => void) | undefined;

  constructor(signals: SignalSource) {
    this.#signals = signals;
    signals.on('SIGHUP', this.#onHangUp);
  }

  /** Calls `handler` for each from now on, and once for those before. */
  handle(handler: () => void): void {
    this.#handler = handler;
    if (this.#isPending) handler();
  }

  dispose(): void {
    this.#signals.off('SIGHUP', this.#onHangUp);
  }

  #heard(): void {
    if (this.#handler === undefined) this.#isPending = true;
    else this.#handler();
  }
}
