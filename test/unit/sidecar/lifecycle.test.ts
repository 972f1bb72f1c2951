import { expect, it } from 'vitest';
import { NS_PER_S } from '../../../src/base/clock.ts';
import { type InProgress, Lifecycle, type Stoppable, type StopTimes } from '../../../src/sidecar/lifecycle.ts';
import { NotingLogger } from '../../support/cli/control/stand.ts';
import { ManualClock } from '../../support/clock.ts';

const TIMES: StopTimes = { delayMs: 5_000, windowMs: 10_000, deadlineMs: 25_000 };

/** A sidecar that notes what it is told, and when, in seconds since the start; what is under way is the test's to say. */
class Plant implements Stoppable {
  readonly told: string[] = [];
  readonly clock = new ManualClock();
  readonly log = new NotingLogger();
  readonly lifecycle: Lifecycle;
  now: InProgress = { exchanges: 0, heldPolls: 0, webSockets: 0, connections: 0 };
  quietMs: number | undefined;
  /** WebSockets whose peers do not answer. */
  areStubborn = false;
  readonly #paused: (() => void)[] = [];

  constructor(times: Partial<StopTimes> = {}) {
    this.lifecycle = new Lifecycle(this, {
      times: () => ({ ...TIMES, ...times }),
      clock: this.clock,
      logger: this.log.logger,
      pause: () => new Promise((resolve) => this.#paused.push(resolve)),
    });
  }

  inProgress(): InProgress {
    return this.now;
  }

  outlivesProcess(): boolean {
    return false;
  }

  announceEnd(): void {
    this.#note('announce');
  }

  closeWebSockets(overMs: number): void {
    this.#note(`let go over ${overMs / 1_000}`);
    if (overMs === 0 && !this.areStubborn) this.now = { ...this.now, webSockets: 0 };
  }

  async stopListening(): Promise<void> {
    this.#note('refuse');
  }

  closeIdle(quietMs: number): void {
    this.quietMs = quietMs;
  }

  async end(): Promise<void> {
    this.#note('end');
  }

  /** Lets time pass, a second at a time, and gives the life its turns in each. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      this.clock.advanceS(1);
      await this.settle();
    }
  }

  async ended(): Promise<string> {
    await this.settle();
    return this.lifecycle.ended;
  }

  /** Lets it look often enough for whatever it does at one moment. */
  async settle(): Promise<void> {
    for (let look = 0; look < 5; look += 1) {
      for (const wake of this.#paused.splice(0)) wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** What is told again and again is noted once. */
  #note(what: string): void {
    const line = `${this.clock.ns / NS_PER_S}: ${what}`;
    if (!this.told.some((told) => told.endsWith(`: ${what}`))) this.told.push(line);
  }
}

async function stopping(times?: Partial<StopTimes>, now?: Partial<InProgress>): Promise<Plant> {
  const plant = await started(times, now);
  plant.lifecycle.stop('SIGTERM');
  await plant.settle();
  return plant;
}

async function started(times?: Partial<StopTimes>, now: Partial<InProgress> = {}): Promise<Plant> {
  const plant = new Plant(times);
  plant.now = { ...plant.now, ...now };
  plant.lifecycle.started();
  await plant.settle();
  return plant;
}

it('a stop with a limit ends by then, before its deadline', async () => {
  const plant = await started({}, { exchanges: 1, connections: 1 });
  plant.lifecycle.stop('SIGHUP', true, 3_000);
  await plant.pass(4);
  expect(plant.told.at(-1)).toBe('3: end');
  expect(await plant.ended()).toBe('stopped');
});

it('a life is unready at once, releases clients after the delay, refuses after the window, and ends when nothing is left', async () => {
  const plant = await stopping({}, { webSockets: 3, connections: 2, exchanges: 2 });
  expect(plant.lifecycle.state).toBe('draining');
  await plant.pass(4);
  expect(plant.told).toEqual(['0: announce']);
  await plant.pass(11);
  expect(plant.told).toEqual(['0: announce', '5: let go over 10', '15: refuse', '15: let go over 0']);
  expect(plant.lifecycle.state).toBe('stopping');
  await plant.pass(2);
  plant.now = { ...plant.now, connections: 0 };
  expect(await plant.ended()).toBe('stopped');
  expect(plant.told.at(-1)).toBe('17: end');
  expect(plant.log.lines).toEqual(['info stop requested', 'info draining', 'info stopping', 'info stopped']);
});

it('a life skips the window if nothing is held, but not the delay', async () => {
  const plant = await stopping();
  await plant.pass(5);
  await plant.ended();
  expect(plant.told.slice(1)).toEqual(['5: let go over 10', '5: refuse', '5: let go over 0', '5: end']);
});

it('a life does not count a poll over a WebSocket as a held connection', async () => {
  const plant = await started({ delayMs: 0, windowMs: 0 }, { webSockets: 1, heldPolls: 1, connections: 1 });
  plant.areStubborn = true;
  plant.lifecycle.stop('SIGTERM');
  await plant.settle();
  expect(plant.lifecycle.state).toBe('stopping');
  plant.now = { ...plant.now, webSockets: 0, heldPolls: 0, connections: 0 };
  expect(await plant.ended()).toBe('stopped');
});

it('a life leaves time for closing if the window is longer than the deadline', async () => {
  const plant = await stopping({ delayMs: 0, windowMs: 60_000, deadlineMs: 12_000 }, { heldPolls: 1, connections: 1 });
  await plant.pass(10);
  await plant.ended();
  expect(plant.told).toContain('9: refuse');
});

it('a life ends at its deadline with anything still open', async () => {
  const plant = await stopping({}, { connections: 1, exchanges: 1 });
  await plant.pass(24);
  expect([plant.lifecycle.state, plant.lifecycle.leftMs]).toEqual(['stopping', 1_000]);
  await plant.pass(1);
  expect(await plant.ended()).toBe('stopped');
  expect(plant.told.at(-1)).toBe('25: end');
});

it('a life cuts only held polls before its deadline', async () => {
  const plant = await stopping({ delayMs: 0, windowMs: 2_000 }, { exchanges: 3, heldPolls: 2, connections: 3 });
  await plant.pass(8);
  expect(plant.lifecycle.state).toBe('stopping');
  plant.now = { ...plant.now, exchanges: 2, connections: 2 };
  await plant.ended();
  expect(plant.told.at(-1)).toBe('8: end');
});

it('a life drains without ending, and then stops without further delay', async () => {
  const plant = await started({}, { webSockets: 1 });
  plant.lifecycle.drain();
  await plant.pass(30);
  expect([plant.lifecycle.state, plant.lifecycle.leftMs]).toEqual(['draining', undefined]);
  expect(plant.told).toEqual(['0: announce', '5: let go over 10']);
  plant.lifecycle.drain();
  expect(plant.log.lines).toEqual(['info draining']);
  expect(plant.quietMs).toBeUndefined();
  plant.lifecycle.stop('SIGTERM');
  await plant.ended();
  expect(plant.quietMs).toBe(1_000);
  expect(plant.told.slice(2)).toEqual(['30: refuse', '30: let go over 0', '30: end']);
});

it('a life skips delay and window when hurried, and lets exchanges end', async () => {
  const plant = await started({}, { webSockets: 1, exchanges: 1, connections: 1 });
  plant.lifecycle.stop('SIGINT', true);
  await plant.settle();
  expect(plant.told).toEqual(['0: announce', '0: let go over 10', '0: refuse', '0: let go over 0']);
  expect([plant.lifecycle.state, plant.quietMs]).toEqual(['stopping', 0]);
  plant.now = { ...plant.now, connections: 0 };
  expect(await plant.ended()).toBe('stopped');
});

it('a life ends at once at the second request, in any state', async () => {
  const plant = await started({}, { connections: 1 });
  plant.lifecycle.stop('SIGTERM');
  plant.lifecycle.stop('SIGTERM');
  expect(await plant.lifecycle.ended).toBe('stopped at once');
  expect(plant.log.lines.at(-1)).toBe('info stopped at once');
  expect(plant.told).not.toContain('0: end');
});
