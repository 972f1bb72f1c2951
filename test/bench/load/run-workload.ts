/** Runs one workload: all its contestants in turn, in rounds, so that disturbances of the machine affect all alike. */
import type { Options } from './options.ts';
import { whyMissing } from './peers/peer.ts';
import { progress } from './processes.ts';
import type { Result, Sample } from './results.ts';
import type { Rig, Running } from './rig.ts';
import type { Contestant, Turn, Workload } from './workloads/workload.ts';

type RunOptions = Pick<Options, 'rounds' | 'seconds' | 'only'>;

export async function runWorkload(workload: Workload, rig: Rig, options: RunOptions): Promise<Result> {
  const upstream = await rig.startUpstream(workload.upstream);
  const run = new WorkloadRun(workload, rig, options, upstream);
  try {
    return await run.run();
  } finally {
    await Promise.all([upstream, ...run.running.values()].map(({ child }) => rig.processes.stop(child)));
  }
}

const keyOf = ({ processKey, name }: Contestant) => processKey ?? name;

class WorkloadRun {
  readonly running = new Map<string, Running>();
  readonly #workload: Workload;
  readonly #rig: Rig;
  readonly #options: RunOptions;
  readonly #upstream: Running;
  readonly #missing = new Map<string, string>();
  readonly #notes: string[] = [];

  constructor(workload: Workload, rig: Rig, options: RunOptions, upstream: Running) {
    this.#workload = workload;
    this.#rig = rig;
    this.#options = options;
    this.#upstream = upstream;
  }

  async run(): Promise<Result> {
    const contestants = this.#takingPart();
    if (!this.#workload.isFresh) {
      for (const contestant of contestants) await this.#guarded(contestant, () => this.#prepare(contestant));
    }
    const rounds: Map<string, Sample>[] = [];
    for (let round = 0; round < this.#options.rounds; round += 1) {
      const samples = new Map<string, Sample>();
      // Another one begins each round, so that the order differs.
      const first = round % contestants.length;
      for (const contestant of [...contestants.slice(first), ...contestants.slice(0, first)]) {
        const sample = await this.#guarded(contestant, () => this.#measure(contestant));
        if (sample !== undefined) samples.set(contestant.name, sample);
        this.#tell(round, contestant, sample);
      }
      rounds.push(samples);
    }
    for (const contestant of contestants) {
      const notes = await this.#guarded(contestant, async () => this.#workload.inspect?.(this.#turn(contestant)));
      this.#notes.push(...(notes ?? []));
    }
    return { rounds, missing: this.#missing, notes: this.#notes };
  }

  #takingPart(): Contestant[] {
    const { only } = this.#options;
    return this.#workload.contestants.filter(({ name, peer }) => {
      if (only !== undefined && !only.includes(peer?.name ?? name)) return false;
      const reason = peer === undefined ? undefined : whyMissing(peer);
      if (reason !== undefined) this.#missing.set(name, reason);
      return reason === undefined;
    });
  }

  /** A contestant that fails takes no further part, and its row says why. */
  async #guarded<T>({ name }: Contestant, act: () => Promise<T>): Promise<T | undefined> {
    if (this.#missing.has(name)) return undefined;
    try {
      return await act();
    } catch (cause) {
      if (this.#rig.processes.isClosed) throw cause;
      this.#missing.set(name, (cause as Error).message);
      return undefined;
    }
  }

  async #start({ peer }: Contestant): Promise<Running> {
    return peer === undefined ? this.#upstream : await this.#rig.startPeer(peer, this.#upstream.spot.port);
  }

  async #prepare(contestant: Contestant): Promise<void> {
    if (this.running.has(keyOf(contestant))) return;
    this.running.set(keyOf(contestant), await this.#start(contestant));
    progress(`[${this.#workload.name}] warming up ${contestant.title}`);
    await this.#workload.prepare?.(this.#turn(contestant));
  }

  async #measure(contestant: Contestant): Promise<Sample> {
    if (!this.#workload.isFresh) return await this.#workload.measure(this.#turn(contestant));
    const running = await this.#start(contestant);
    try {
      return await this.#workload.measure(this.#turn(contestant, running));
    } finally {
      await this.#rig.processes.stop(running.child);
    }
  }

  #turn(contestant: Contestant, running = this.running.get(keyOf(contestant))): Turn {
    if (running === undefined) throw new Error('is not running');
    return { rig: this.#rig, running, contestant, seconds: this.#options.seconds };
  }

  #tell(round: number, { name, title }: Contestant, sample: Sample | undefined): void {
    const alone = new Map([[name, sample ?? {}]]);
    const figures = this.#workload.columns.flatMap((column) => {
      const value = column.read(name)(alone);
      // Relative to itself, everything is 1.
      if (value === undefined || column.title === 'sidecar to it') return [];
      return [`${column.title} ${value.toFixed(column.digits)}`];
    });
    const place = `[${this.#workload.name} ${round + 1}/${this.#options.rounds}] ${title}`;
    progress(`${place}: ${sample === undefined ? this.#missing.get(name) : figures.join(', ')}`);
    if (sample?.errors) this.#notes.push(`${title}: ${sample.errors} errors in round ${round + 1}.`);
  }
}
