import type { Life } from '../sidecar/lifecycle.ts';

/** The source of signals: `process`, or a test. */
export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
}

type Stoppable = Pick<Life, 'stop'>;

/**
 * Passes SIGTERM and SIGINT to the lifecycle. It listens from the very start, so that a signal during the start is not
 * lost.
 */
export class StopSignals {
  readonly #signals: SignalSource;
  readonly #early: ((life: Stoppable) => void)[] = [];
  #life: Stoppable | undefined;
  readonly #onTerm = () => this.#pass((life) => life.stop('SIGTERM'));
  // A person at a terminal waits, and nobody has to learn first that this sidecar is no longer ready: no delay, no
  // window.
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
