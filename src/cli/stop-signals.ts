import type { Life } from '../sidecar/lifecycle.ts';

/** Where signals come from; `process`, or a test. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
}

type Stoppable = Pick<Life, 'stop'>;

/** SIGTERM and SIGINT, for the life that they end. From the very start: one that comes while the listeners open is not lost. */
export class StopSignals {
  readonly #signals: SignalSource;
  readonly #early: ((life: Stoppable) => void)[] = [];
  #life: Stoppable | undefined;
  readonly #onTerm = () => this.#pass((life) => life.stop('SIGTERM'));
  // A person at a terminal waits for it, and there is nobody who has to learn first that this sidecar is not ready any more.
  readonly #onInt = () => this.#pass((life) => life.stop('SIGINT', true));

  constructor(signals: SignalSource) {
    this.#signals = signals;
    signals.on('SIGTERM', this.#onTerm);
    signals.on('SIGINT', this.#onInt);
  }

  passTo(life: Stoppable): void {
    this.#life = life;
    for (const pass of this.#early.splice(0)) pass(life);
  }

  dispose(): void {
    this.#signals.off('SIGTERM', this.#onTerm);
    this.#signals.off('SIGINT', this.#onInt);
  }

  #pass(pass: (life: Stoppable) => void): void {
    if (this.#life === undefined) this.#early.push(pass);
    else pass(this.#life);
  }
}
