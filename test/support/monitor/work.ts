/** Full tables whose reading takes as long on a simulated clock as was measured for real ones. */

import { NS_PER_US } from '../../../src/base/clock.ts';
import { CallTargets } from '../../../src/measure/record/call-targets.ts';
import { CallTotals } from '../../../src/measure/record/call-totals.ts';
import type { RecordedApplication } from '../../../src/measure/record/recorded-application.ts';
import type { SessionEntry } from '../../../src/measure/sessions/session.ts';
import { emptyMetricSet, type MetricSet } from '../../../src/metrics/metric-set.ts';
import { ManualClock } from '../clock.ts';

/** Microseconds to read one of each, including its share of sorting and writing. */
const COST = { name: 1, timer: 15, meter: 2, counter: 1, histogram: 15, session: 5 } as const;

const UNMARKED_SNAPSHOT = { count: 0, m1: 0, m5: 0, m15: 0, mean: 0 };

const DURATIONS = { max: 1, mean: 1, min: 1, p50: 1, p75: 1, p95: 1, p98: 1, p99: 1, p999: 1, stddev: 0 };

/** A map whose iteration takes time. */
class CostlyMap<Value> extends Map<string, Value> {
  readonly #clock: ManualClock;

  constructor(clock: ManualClock, entries: Iterable<readonly [string, Value]>) {
    super(entries);
    this.#clock = clock;
  }

  override *[Symbol.iterator](): ReturnType<Map<string, Value>['entries']> {
    for (const entry of super.entries()) {
      this.#clock.ns += COST.name * NS_PER_US;
      yield entry;
    }
  }

  override entries(): ReturnType<Map<string, Value>['entries']> {
    return this[Symbol.iterator]();
  }

  override *keys(): ReturnType<Map<string, Value>['keys']> {
    for (const [name] of this) yield name;
  }

  override *values(): ReturnType<Map<string, Value>['values']> {
    for (const [, value] of this) yield value;
  }
}

type Sizes = Readonly<Record<'rpcs' | 'objects' | 'sessions', number>>;

export function createWork({ rpcs, objects, sessions }: Sizes) {
  const clock = new ManualClock();
  const map = <Value>(count: number, toName: (i: number) => string, value: Value) => {
    const nameAt = (i: number) => toName((i * 7_919) % count);
    return new CostlyMap(clock, new Map(Array.from({ length: count }, (_, i) => [nameAt(i), value])));
  };
  const { timer, meter, counter, counts, object } = metricsOf(clock);
  const gauge = (value: number) => ({ type: 'integer', read: () => value }) as const;
  const rpcSet: MetricSet = {
    ...emptyMetricSet,
    timers: map(rpcs, (i) => `rpc.E.Method${i}`, timer).set('rpc', timer),
    meters: map(rpcs, (i) => `rpc.E.Method${i}.errors`, meter).set('rpc.errors', meter),
  };
  const subscriptions = map(objects, (i) => `object.H.Object${i}.subscriptions`, counter);
  const objectSet: MetricSet = {
    ...emptyMetricSet,
    gauges: new Map([['object.monitored', gauge(0)]]),
    counters: subscriptions.set('object.subscriptions', counter),
    meters: map(objects, (i) => `object.H.Object${i}.newValues`, meter).set('object.newValues', meter),
  };
  const sbaSet = { ...emptyMetricSet, timers: new Map([['sba', timer]]), meters: new Map([['sba.errors', meter]]) };
  const sessionSet: MetricSet = {
    ...emptyMetricSet,
    gauges: new Map([['sessions.active', gauge(sessions)]]),
    timers: new Map([['sessions.created', timer]]),
  };
  const calls = { metricsOf: () => undefined, nameCount: 0, foldedCount: 0, foldListeners: new Set() };
  const application = {
    name: 'smartWeb',
    running: { size: 0, oldest: () => [], byName: () => [] },
    slowest: { slowest: () => [] },
    totals: new CallTotals(),
    targets: new CallTargets(clock),
    statistics: {
      rpc: { ...calls, metrics: () => rpcSet, countsByName: map(rpcs, (i) => `E.Method${i}`, counts) },
      sba: { ...calls, metrics: () => sbaSet, countsByName: new Map() },
      object: {
        ...calls,
        monitored: 0,
        metrics: () => objectSet,
        objects: map(objects, (i) => `H.Object${i}`, object),
      },
    },
    sessions: {
      created: timer,
      countsByType: () => ({ REST: sessions, COMET_WEBSOCKET: 0, COMET_LONG_POLLING: 0 }),
      find: () => undefined,
      metrics: () => sessionSet,
      entries: () => entriesOf(sessions, clock),
    },
  };
  return { clock, application: application as unknown as RecordedApplication };
}

function metricsOf(clock: ManualClock) {
  const spend = <Value>(us: number, value: Value): Value => {
    clock.ns += us * NS_PER_US;
    return value;
  };
  const snapshot = { count: 1, ...DURATIONS, rates: UNMARKED_SNAPSHOT };
  const timer = { count: 1, snapshot: () => spend(COST.timer, snapshot) };
  const counter = {
    get count() {
      return spend(COST.counter, 1);
    },
  };
  const meter = {
    get count() {
      return counter.count;
    },
    snapshot: () => spend(COST.meter, UNMARKED_SNAPSHOT),
  };
  const durations = { bounds: [1], sumSeconds: 1, cumulative: () => spend(COST.histogram, [1, 1]) };
  const minute = { read: () => undefined, take: () => undefined };
  return {
    ...{ timer, counter, meter },
    counts: { ok: 1, clientErrors: 0, late: 0, errors: 0, durations, minute },
    object: { subscriptions: counter, newValues: meter, minuteValues: 0, takeMinute: () => 0 },
  };
}

function* entriesOf(count: number, clock: ManualClock): Generator<SessionEntry> {
  for (let i = 0; i < count; i += 1) {
    clock.ns += COST.session * NS_PER_US;
    yield {
      ...{ id: `session ${i}`, userName: 'ann', connectionType: 'REST', remoteAddress: '10.0.0.7', requests: i },
      ...{ createTime: '2026-03-01T08:00:00.000Z', lastActivityTime: '2026-03-01T08:00:00.000Z' },
    };
  }
}

/** The longest time on the clock between two turns of the event loop during `act`. */
export async function longestTurn(clock: ManualClock, act: () => Promise<void>): Promise<number> {
  let beganNs = clock.ns;
  let longestNs = 0;
  let isOver = false;
  const mark = (): void => {
    longestNs = Math.max(longestNs, clock.ns - beganNs);
    beganNs = clock.ns;
    if (!isOver) setImmediate(mark);
  };
  mark();
  await act();
  mark();
  isOver = true;
  return longestNs;
}
