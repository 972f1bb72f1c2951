import type { SignalSource } from './stop-signals.ts';

/** Handles SIGHUP from the very start: one that arrives during the start is handled afterwards, and ends nothing. */
export class HangUps {
  readonly #signals: SignalSource;
  readonly #onHangUp = () => this.#heard();
  #isPending = false;
  #handler: (() => void) | undefined;

  constructor(signals: SignalSource) {
    this.#signals = signals;
    signals.on('SIGHUP', this.#onHangUp);
  }

  /** From now on, calls `handler` for each SIGHUP, and once for all earlier ones. */
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
