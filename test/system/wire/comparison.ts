/** Plays cases through data paths: both ends see the same as without a sidecar, as far as a path may not change it. */
import { expect } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import type { DataPathCase } from './data-path-case.ts';
import { playEverySplit } from './every-split.ts';
import { type Exactness, type Observation, toComparable } from './observation.ts';
import { CaseRunner } from './run-case.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';

export interface Path {
  readonly name: 'relay' | 'gateway';
  readonly dataPath: Config['dataPath'];
  readonly exactness: Exactness;
}

export const RELAY: Path = { name: 'relay', dataPath: 'auto', exactness: 'fields' };
/** Without fields of the sidecar's own, the relay passes all on byte for byte. */
export const EXACT_RELAY: Path = { ...RELAY, exactness: 'bytes' };
export const GATEWAY: Path = { name: 'gateway', dataPath: 'gateway', exactness: 'meaning' };

export class Comparison {
  readonly upstream: ScriptedUpstream;
  readonly #direct = new Map<DataPathCase, Promise<Observation>>();
  readonly #runner: CaseRunner;

  private constructor(upstream: ScriptedUpstream) {
    this.upstream = upstream;
    this.#runner = new CaseRunner(upstream);
  }

  static async start(): Promise<Comparison> {
    return new Comparison(await ScriptedUpstream.listen());
  }

  close(): Promise<void> {
    return this.upstream.close();
  }

  /** What both ends see without a sidecar; played once for each case. */
  directly(subject: DataPathCase): Promise<Observation> {
    const known = this.#direct.get(subject) ?? this.#runner.run(subject, this.upstream.port);
    this.#direct.set(subject, known);
    return known;
  }

  /** Plays the case through a sidecar on `port`, before another upstream if `runner` has one, and checks what both ends saw. */
  async play(subject: DataPathCase, port: number, path: Path, runner = this.#runner): Promise<Observation> {
    const seen = await runner.run(subject, port);
    expectFacts(subject, seen);
    if (subject.sidecarOnly === undefined) expectSame(subject, seen, await this.directly(subject), path.exactness);
    return seen;
  }

  /** Several at a time, but for those that the path is known to change. */
  async playAll(subjects: readonly DataPathCase[], port: number, path: Path, atOnce: number): Promise<void> {
    const next = subjects.filter(({ knownDifference }) => knownDifference?.[path.name] === undefined).values();
    const worker = async () => {
      for (const subject of next) {
        try {
          await this.play(subject, port, path);
        } catch (cause) {
          throw new Error(`${subject.name}: ${String(cause)}`, { cause });
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  }

  /** Resolves with the number of plays. */
  async playEverySplit(subject: DataPathCase, port: number, path: Path, runner = this.#runner): Promise<number> {
    const straight = await this.directly(subject);
    const check = (seen: Observation) => expectSame(subject, seen, straight, path.exactness);
    return await playEverySplit(subject, runner, port, straight, check);
  }
}

/** As the case stands for itself: statuses and facts. */
export function expectFacts(subject: DataPathCase, seen: Observation): void {
  expect(seen.responses.map(({ startLine }) => Number(startLine.split(' ')[1]))).toEqual(subject.statuses);
  subject.verify?.(seen);
}

function expectSame(subject: DataPathCase, seen: Observation, straight: Observation, wanted: Exactness): void {
  const exactness = subject.isIrregular === true ? 'meaning' : wanted;
  expect(toComparable(seen, straight, exactness)).toEqual(toComparable(straight, straight, exactness));
}
