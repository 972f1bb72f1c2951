/** Runs one workload: all its contestants in turn, in rounds, so that disturbances of the machine affect all alike. */
import type { Options } from './options.ts';
import { whyMissing } from './peers/peer.ts';
import type { Result, Sample } from './results.ts';
import type { Rig, Running } from './rig.ts';
import type { Contestant, Turn, Workload } from './workloads/workload.ts';

export interface RunParts {
  readonly rig: Rig;
  readonly options: Pick<Options, 'rounds' | 'seconds' | 'only'>;
  progress(line: string): void;
}

export async function runWorkload(workload: Workload, parts: RunParts): Promise<Result> {
  const run = new WorkloadRun(workload, parts);
  try {
    return await run.run();
  } finally {
    await run.stop();
  }
}

/** The list, rotated by one in each round, so that the order differs. */
export function rotated<T>(list: readonly T[], by: number): T[] {
  const at = list.length === 0 ? 0 : by % list.length;
  return [...list.slice(at), ...list.slice(0, at)];
}

const keyOf = ({ processKey, name }: Contestant) => processKey ?? name;

class WorkloadRun {
  readonly #workload: Workload;
  readonly #parts: RunParts;
  readonly #missing = new Map<string, string>();
  readonly #notes: string[] = [];
  readonly #running = new Map<string, Running>();
  #upstream: Running | undefined;

  constructor(workload: Workload, parts: RunParts) {
    this.#workload = workload;
    this.#parts = parts;
  }

  async run(): Promise<Result> {
    this.#upstream = await this.#parts.rig.startUpstream(this.#workload.upstream);
    const contestants = this.#takingPart();
    if (!this.#workload.isFresh) {
      for (const contestant of contestants) await this.#guarded(contestant, () => this.#prepare(contestant));
    }
    const rounds: Map<string, Sample>[] = [];
    for (let round = 0; round < this.#parts.options.rounds; round += 1) {
      const samples = new Map<string, Sample>();
      for (const contestant of rotated(contestants, round)) {
        const sample = await this.#guarded(contestant, () => this.#measure(contestant));
        if (sample !== undefined) samples.set(contestant.name, sample);
        this.#tell(round, contestant, sample);
      }
      rounds.push(samples);
    }
    for (const contestant of contestants) await this.#guarded(contestant, () => this.#inspect(contestant));
    return { rounds, missing: this.#missing, notes: this.#notes };
  }

  async stop(): Promise<void> {
    const all = [...this.#running.values(), ...(this.#upstream === undefined ? [] : [this.#upstream])];
    await Promise.all(all.map((running) => this.#parts.rig.stop(running)));
  }

  #takingPart(): Contestant[] {
    const { only } = this.#parts.options;
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
      if (this.#parts.rig.processes.isClosed) throw cause;
      this.#missing.set(name, (cause as Error).message);
      return undefined;
    }
  }

  async #start({ peer }: Contestant): Promise<Running> {
    const upstream = this.#upstream as Running;
    return peer === undefined ? upstream : await this.#parts.rig.startPeer(peer, upstream.spot.port);
  }

  async #prepare(contestant: Contestant): Promise<void> {
    if (this.#running.has(keyOf(contestant))) return;
    const running = await this.#start(contestant);
    this.#running.set(keyOf(contestant), running);
    this.#parts.progress(`[${this.#workload.name}] warming up ${contestant.title}`);
    await this.#workload.prepare?.(this.#turn(contestant, running));
  }

  async #measure(contestant: Contestant): Promise<Sample> {
    if (!this.#workload.isFresh) return await this.#workload.measure(this.#turn(contestant));
    const running = await this.#start(contestant);
    try {
      return await this.#workload.measure(this.#turn(contestant, running));
    } finally {
      await this.#parts.rig.stop(running);
    }
  }

  async #inspect(contestant: Contestant): Promise<void> {
    if (this.#workload.isFresh || this.#workload.inspect === undefined) return;
    this.#notes.push(...(await this.#workload.inspect(this.#turn(contestant))));
  }

  #turn(contestant: Contestant, given?: Running): Turn {
    const running = given ?? this.#running.get(keyOf(contestant));
    if (running === undefined) throw new Error('is not running');
    const { rig, options } = this.#parts;
    return { rig, running, contestant, seconds: options.seconds };
  }

  #tell(round: number, { name, title }: Contestant, sample: Sample | undefined): void {
    const alone = new Map([[name, sample ?? {}]]);
    const figures = this.#workload.columns.flatMap((column) => {
      const value = column.read(name)(alone);
      // Relative to itself, everything is 1.
      if (value === undefined || column.title === 'sidecar to it') return [];
      return [`${column.title} ${value.toFixed(column.digits)}`];
    });
    const place = `[${this.#workload.name} ${round + 1}/${this.#parts.options.rounds}] ${title}`;
    this.#parts.progress(`${place}: ${sample === undefined ? this.#missing.get(name) : figures.join(', ')}`);
    if (sample?.errors) this.#notes.push(`${title}: ${sample.errors} errors in round ${round + 1}.`);
  }
}
