/** Runs one workload: all its contestants in turn, in rounds, so that disturbances of the machine affect all alike. */
import type { Options } from './options.ts';
import { whyMissing } from './peers/peer.ts';
import { progress } from './processes.ts';
import type { Result, Sample } from './results.ts';
import type { Rig, Running } from './rig.ts';
import type { Contestant, Workload } from './workloads/workload.ts';

type RunOptions = Pick<Options, 'rounds' | 'seconds' | 'only'>;

export async function runWorkload(workload: Workload, rig: Rig, options: RunOptions): Promise<Result> {
  const run = new WorkloadRun(workload, rig, options, await rig.startUpstream(workload.upstream));
  try {
    return await run.run();
  } finally {
    await Promise.all([...run.running.values()].map(({ child }) => rig.processes.stop(child)));
  }
}

class WorkloadRun {
  readonly running: Map<string, Running>;
  readonly #workload: Workload;
  readonly #rig: Rig;
  readonly #options: RunOptions;
  readonly #upstream: Running;
  /** Why contestants take no further part. */
  readonly #missing = new Map<Contestant, string>();
  readonly #notes: string[] = [];

  constructor(workload: Workload, rig: Rig, options: RunOptions, upstream: Running) {
    this.#workload = workload;
    this.#rig = rig;
    this.#options = options;
    this.#upstream = upstream;
    this.running = new Map([['direct', upstream]]);
  }

  async run(): Promise<Result> {
    const { only, rounds } = this.#options;
    const { contestants, inspect } = this.#workload;
    const all = contestants.filter(({ name, peer }) => only === undefined || only.includes(peer?.name ?? name));
    for (const contestant of all) await this.#guarded(contestant, () => this.#prepare(contestant));
    const samples: Map<string, Sample>[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const ofRound = new Map<string, Sample>();
      samples.push(ofRound);
      // Another one begins each round, so that the order differs.
      const first = round % all.length;
      for (const contestant of [...all.slice(first), ...all.slice(0, first)]) {
        const sample = await this.#guarded(contestant, () => this.#measure(contestant));
        if (sample !== undefined) ofRound.set(contestant.name, sample);
        const figures = Object.entries(sample ?? {}).map(([key, value]) => `${key} ${value.toFixed(1)}`);
        const told = `[${this.#workload.name} ${round + 1}/${rounds}] ${contestant.title}`;
        progress(`${told}: ${this.#missing.get(contestant) ?? figures.join(', ')}`);
        if (sample?.errors) this.#notes.push(`${contestant.title}: ${sample.errors} errors in round ${round + 1}`);
      }
    }
    for (const one of all) await this.#guarded(one, async () => inspect?.(this.#turn(one)));
    const missing = Array.from(this.#missing, ([{ title }, reason]) => `${title}: ${reason.slice(0, 200)}`);
    return { rounds: samples, notes: [...missing, ...this.#notes] };
  }

  /** A contestant that fails takes no further part. */
  async #guarded<T>(contestant: Contestant, act: () => Promise<T>): Promise<T | undefined> {
    if (this.#missing.has(contestant)) return undefined;
    try {
      return await act();
    } catch (cause) {
      if (this.#rig.processes.isClosed) throw cause;
      this.#missing.set(contestant, (cause as Error).message);
      return undefined;
    }
  }

  async #prepare(contestant: Contestant): Promise<void> {
    const { name, peer, processKey = name } = contestant;
    const reason = peer && whyMissing(peer);
    if (reason !== undefined) throw new Error(reason);
    if (this.#workload.isFresh || (peer !== undefined && this.running.has(processKey))) return;
    if (peer !== undefined) this.running.set(processKey, await this.#rig.startPeer(peer, this.#upstream.spot.port));
    progress(`[${this.#workload.name}] warming up ${contestant.title}`);
    await this.#workload.prepare?.(this.#turn(contestant));
  }

  async #measure(contestant: Contestant): Promise<Sample> {
    const { peer } = contestant;
    if (!this.#workload.isFresh || peer === undefined) return await this.#workload.measure(this.#turn(contestant));
    const running = await this.#rig.startPeer(peer, this.#upstream.spot.port);
    try {
      return await this.#workload.measure(this.#turn(contestant, running));
    } finally {
      await this.#rig.processes.stop(running.child);
    }
  }

  #turn(contestant: Contestant, running = this.running.get(contestant.processKey ?? contestant.name)) {
    if (running === undefined) throw new Error('is not running');
    return { rig: this.#rig, running, contestant, seconds: this.#options.seconds };
  }
}
