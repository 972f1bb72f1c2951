import { platform } from '../base/platform/platform.ts';

type Signal = NodeJS.Signals;

export interface SignalSource {
  on(signal: Signal, listener: () => void): unknown;
  off(signal: Signal, listener: () => void): unknown;
}

/** Receives signals. Those that arrive during the start are queued, so that they do not end the process. */
export class SignalQueue {
  readonly #source: SignalSource;
  readonly #listeners: ReadonlyMap<Signal, () => void>;
  readonly #queued: Signal[] = [];
  #handler: ((signal: Signal) => void) | undefined;

  constructor(source: SignalSource, signals: readonly Signal[]) {
    this.#source = source;
    this.#listeners = new Map(signals.map((signal) => [signal, () => this.#onSignal(signal)]));
    for (const [signal, listener] of this.#listeners) source.on(signal, listener);
  }

  /** Calls `handler` for the queued signals, and from now on for each new one. */
  handle(handler: (signal: Signal) => void): void {
    this.#handler = handler;
    for (const signal of this.#queued.splice(0)) handler(signal);
  }

  dispose(): void {
    for (const [signal, listener] of this.#listeners) this.#source.off(signal, listener);
  }

  #onSignal(signal: Signal): void {
    if (this.#handler !== undefined) this.#handler(signal);
    // One reload covers all changes, and one warning all of its signal. A second SIGTERM, however, stops at once.
    else if (isStop(signal) || !this.#queued.includes(signal)) this.#queued.push(signal);
  }
}

export function isStop(signal: Signal): boolean {
  return platform.stopSignals.includes(signal);
}
