/**
 * The cost of writing each answer of the monitoring port with full tables, all its turns together: 2,000 RPCs, 2,000 SBA RPCs, 10,000
 * objects, 10,000 sessions of 10 RPCs each. `npx vitest bench --run test/bench/render.bench.ts`.
 */
import { bench, describe } from 'vitest';
import { NS_PER_MS } from '../../src/base/clock.ts';
import { AddressRate } from '../../src/limits/address-rate.ts';
import { SessionTable } from '../../src/measure/sessions/session-table.ts';
import { emptyMetricSet, type MetricSet } from '../../src/metrics/metric-set.ts';
import { SessionStatistics } from '../../src/metrics/statistics.ts';
import { NameOrder } from '../../src/monitor/dropwizard/name-order.ts';
import { MetricsRenderer } from '../../src/monitor/dropwizard/render.ts';
import { renderList } from '../../src/monitor/json-list.ts';
import { type ExpositionFormat, renderTables } from '../../src/monitor/prometheus/exposition.ts';
import { createPlant } from '../support/monitor/prometheus/plant.ts';

const RPCS = 2_000;
const OBJECTS = 10_000;
const SESSIONS = 10_000;

const { statistics, monitored, created, clock } = await createPlant();
const table = new SessionTable({
  config: { idleMs: 1_800_000, cometGoneMs: 300_000, max: SESSIONS },
  clock,
  created,
  claimRate: new AddressRate(clock, 32),
  sessionMetrics: {
    createStatistics: () => new SessionStatistics(clock, 200),
    createMetrics: () => emptyMetricSet,
  },
});

for (let i = 0; i < 100 * RPCS; i += 1) {
  const name = `E.Demo.Method${i % RPCS}`;
  statistics.rpc.recordAnswered(name, 200, ((i * 7_919) % 300) * NS_PER_MS);
  statistics.sba.recordAnswered(name, 200, ((i * 7_919) % 300) * NS_PER_MS);
  // 100 calls of each in 200 s.
  clock.ns += NS_PER_MS;
}
for (let i = 0; i < OBJECTS; i += 1) statistics.object.recordRead(`H.Plant.Object${i}`, 200);
for (let i = 0; i < SESSIONS; i += 1) {
  const origin = { connectionType: 'REST', remoteAddress: '10.0.0.7', atNs: clock.ns, creationNs: NS_PER_MS } as const;
  const session = table.begin(`user${i}`, `token of user${i}`, { userName: `user${i}`, ...origin });
  for (let call = 0; call < 10; call += 1) {
    session?.statistics.rpc.recordAnswered(`E.Demo.Method${(10 * i + call) % RPCS}`, 200, 5 * NS_PER_MS);
  }
}
clock.advanceS(3);

const { rpc, sba, object } = statistics;
const renderer = new MetricsRenderer();
const one = table.find([...table.entries()][0]?.id ?? '')?.statistics.rpc.metrics() ?? emptyMetricSet;

function consume(pieces: Iterable<string>): number {
  let chars = 0;
  for (const piece of pieces) chars += piece.length;
  return chars;
}

function document(...sets: readonly MetricSet[]): void {
  consume(renderer.render(sets, { pretty: false, durationUnit: 'seconds' }));
}

describe('Dropwizard', () => {
  bench('metrics/d2', () => document(table.metrics(), rpc.metrics(), sba.metrics(), object.metrics()));
  bench('metrics/d2/rpc', () => document(rpc.metrics()));
  bench('metrics/d2/sba', () => document(sba.metrics()));
  bench('metrics/d2/object', () => document(object.metrics()));
  bench('metrics/d2/sessions', () => document(table.metrics()));
  bench('metrics/d2/rpc?session=', () => document(one));
  bench('metrics/d2/rpc/<name>', () => document(rpc.metricsOf('E.Demo.Method7') ?? emptyMetricSet));
});

describe('the list of sessions', () => {
  bench('d2/sessions', () => void consume(renderList(table.entries(), false)));
  bench('d2/sessions?pretty=true', () => void consume(renderList(table.entries(), true)));
});

describe('the order of 10,000 names', () => {
  const names = object.metrics().counters;
  const known = new NameOrder();
  bench('for the first time', () => void Array.from(new NameOrder().sorted(names)));
  bench('again', () => void Array.from(known.sorted(names)));
});

describe('/metrics', async () => {
  const reading = await monitored.sidecar.readProcess();
  const exposition = (format: ExpositionFormat) => void consume(renderTables(monitored.toTables(reading), format));
  bench('Prometheus text', () => exposition('text'));
  bench('OpenMetrics', () => exposition('openmetrics'));
});
