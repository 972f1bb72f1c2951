/** A sidecar without sockets, whose calls are made up: real counters, real verdict descriptions, the real exposition. */
import type { MonitoredJvm } from '../../../src/monitor/monitored.ts';
import type { ProcessReading } from '../../../src/monitor/process-reading.ts';
import { type ExpositionFormat, renderTables } from '../../../src/monitor/prometheus/exposition.ts';
import { FewerSeries } from '../../../src/monitor/prometheus/fewer-series.ts';
import type { MetricSources } from '../../../src/sidecar/metrics.ts';
import { Random } from '../../support/fuzz/random.ts';
import { AVAILABLE, createPlant, MS, type Plant } from '../../support/monitor/prometheus/plant.ts';

/** `small` shows no object of its own, as with `objects: totals`, and has no JVM. */
const SIZES = {
  small: { rpcs: 7, objects: 20, callsPerSecond: 5, valuesPerSecond: 20 },
  full: { rpcs: 200, objects: 1_000, callsPerSecond: 100, valuesPerSecond: 500 },
} as const;

export type Size = keyof typeof SIZES;

/** What is planted: the server takes no connections. */
export type Condition = 'well' | 'faulty';

const NO_JVM: MonitoredJvm = { state: { kind: 'unavailable', reason: 'none', sinceEpochMs: 0 } };
const DAY_MS = 86_400_000;
/** A call of 100 is slow. */
const SLOW_EVERY = 100;

type Verdicts =
  ReturnType<NonNullable<MetricSources['verdicts']>['all']> extends Generator<infer Entry> ? Entry : never;

export class SyntheticSite {
  readonly #plant: Plant;
  readonly #size: Size;
  readonly #fewer: FewerSeries;
  readonly #random: Random;
  readonly #startSeconds = Date.now() / 1_000;
  /** Texts since the last step, by format. */
  readonly #texts = new Map<ExpositionFormat, Buffer>();
  #seconds = 0;

  private constructor(plant: Plant, size: Size, random: Random) {
    this.#plant = plant;
    this.#size = size;
    this.#random = random;
    this.#fewer = new FewerSeries({ objects: size === 'small' ? 'totals' : 'all' });
  }

  /** `variant` seeds its values, and gives it one of two versions. */
  static async create(size: Size, condition: Condition, variant: number): Promise<SyntheticSite> {
    const isWell = condition === 'well';
    const verdict = { subject: isWell ? 'nobody' : 'network', code: isWell ? 'fine' : 'upstream-unreachable' };
    const certificate = { numbers: { notAfterEpochMs: Date.now() + (20 + 10 * variant) * DAY_MS } };
    const sources = {
      verdicts: { all: () => [['smartWeb', verdict] as unknown as Verdicts].values() },
      upstream: { reachability: { kind: isWell ? 'reachable' : 'unreachable' } },
      lifecycle: { state: 'serving', leftMs: undefined },
      certificates: { 'listen.tls': certificate },
      version: `0.1.${variant % 2}`,
    } as unknown as Partial<MetricSources>;
    const plant = await createPlant({ sources, jvm: size === 'small' ? NO_JVM : AVAILABLE });
    const site = new SyntheticSite(plant, size, new Random(variant + 1));
    site.step(1);
    return site;
  }

  /** `seconds` of traffic. */
  step(seconds: number): void {
    const { rpcs, objects, callsPerSecond, valuesPerSecond } = SIZES[this.#size];
    this.#seconds += seconds;
    this.#plant.clock.advanceS(seconds);
    // At first each name once, so that all series exist.
    const isFirst = this.#texts.size === 0 && this.#seconds === seconds;
    const calls = isFirst ? rpcs : callsPerSecond * seconds;
    const values = isFirst ? objects : valuesPerSecond * seconds;
    for (let i = 0; i < calls; i += 1) this.#call(isFirst ? i : this.#random.below(rpcs));
    for (let i = 0; i < values; i += 1) {
      const object = isFirst ? i : this.#random.below(objects);
      this.#plant.statistics.object.recordValue(`H.Boiler${object}.Level`);
    }
    this.#texts.clear();
  }

  #call(name: number): void {
    const { statistics, sidecar } = this.#plant;
    const durationNs = MS * (2 + 40 * this.#random.next()) * (this.#random.chance(1 / SLOW_EVERY) ? 50 : 1);
    const isError = this.#random.chance(0.002);
    statistics.rpc.recordAnswered(`E.Boiler${name}.Start`, isError ? 500 : 200, durationNs);
    const [application] = sidecar.recorder.applications.values();
    const [beganNs, clientWaitNs] = [0, durationNs / 10];
    const times = { beganNs, endedNs: durationNs, durationNs, clientWaitNs, firstByteNs: durationNs / 2 };
    application?.totals.ended('rpc', isError ? 'error' : 'ok', times);
    const { own } = sidecar.recorder;
    own.exchangeEnded('completed', 200);
    own.added.request.add(MS * 0.1 * this.#random.next());
    own.added.response.add(MS * 0.1 * this.#random.next());
  }

  /** Written once for each step. */
  text(format: ExpositionFormat): Buffer {
    const known = this.#texts.get(format);
    if (known !== undefined) return known;
    const tables = this.#fewer.apply(this.#plant.monitored.createTables(this.#process()));
    const text = Buffer.from([...renderTables(tables, format)].join(''));
    this.#texts.set(format, text);
    return text;
  }

  #process(): ProcessReading {
    const wave = Math.sin(this.#seconds / 60) * 5e6;
    return {
      ...{ cpuSeconds: this.#seconds * 0.03, loopActiveSeconds: this.#seconds * 0.02 },
      ...{ residentBytes: 90e6 + wave, heapUsedBytes: 30e6 + wave, heapTotalBytes: 45e6, externalBytes: 4e6 },
      ...{ openFds: 60 + Math.round(wave / 1e6), maxFds: 65_536, startTimeSeconds: this.#startSeconds },
    };
  }
}
