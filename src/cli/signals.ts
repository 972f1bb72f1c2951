type Signal = 'SIGTERM' | 'SIGINT' | 'SIGHUP';

export interface SignalSource {
  on(signal: Signal, listener: () => void): unknown;
  off(signal: Signal, listener: () => void): unknown;
}

/** Keeps the signals that arrive during the start, so that they are handled afterwards and end nothing. */
export class EarlySignals {
  readonly #source: SignalSource;
  readonly #listeners: ReadonlyMap<Signal, () => void>;
  readonly #early: Signal[] = [];
  #handler: ((signal: Signal) => void) | undefined;

  constructor(source: SignalSource, signals: readonly Signal[]) {
    this.#source = source;
    this.#listeners = new Map(signals.map((signal) => [signal, () => this.#onSignal(signal)]));
    for (const [signal, listener] of this.#listeners) source.on(signal, listener);
  }

  /** From now on, calls `handler` for each signal, and first for the earlier ones. */
  handle(handler: (signal: Signal) => void): void {
    this.#handler = handler;
    for (const signal of this.#early.splice(0)) handler(signal);
  }

  dispose(): void {
    for (const [signal, listener] of this.#listeners) this.#source.off(signal, listener);
  }

  #onSignal(signal: Signal): void {
    if (this.#handler !== undefined) this.#handler(signal);
    // One reload takes over everything that has changed. A second SIGTERM means more than the first.
    else if (signal !== 'SIGHUP' || !this.#early.includes(signal)) this.#early.push(signal);
  }
}
