import type { Life } from '../sidecar/lifecycle.ts';

export interface SignalSource {
  on(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
  off(signal: 'SIGTERM' | 'SIGINT' | 'SIGHUP', listener: () => void): unknown;
}

type Stoppable = Pick<Life, 'stop'>;

/** Passes SIGTERM and SIGINT to the lifecycle. It listens from the start, so that an early signal is not lost. */
export class StopSignals {
  readonly #signals: SignalSource;
  readonly #early: ((life: Stoppable) => void)[] = [];
  #life: Stoppable | undefined;
  readonly #onTerm = () => this.#pass((life) => life.stop('SIGTERM'));
  // Without delay and window: a person at a terminal waits, and no load balancer has to learn that it is not ready.
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
