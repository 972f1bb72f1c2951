/** Answers about tables that are full of the longest names end within `monitor.maxAnswerBytes`. */
import { expect, it } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { createTable } from '../../../../src/base/metric-description.ts';
import { APPLICATION_METRICS } from '../../../../src/measure/record/application-metrics.ts';
import { CallTargets } from '../../../../src/measure/record/call-targets.ts';
import { CallTotals } from '../../../../src/measure/record/call-totals.ts';
import type { RecordedApplication } from '../../../../src/measure/record/recorded-application.ts';
import { createStatistics } from '../../../../src/metrics/statistics.ts';
import { renderMetrics } from '../../../../src/monitor/dropwizard/render.ts';
import { renderTables } from '../../../../src/monitor/prometheus/exposition.ts';

const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

const OPTIONS = {
  windowMs: 300_000,
  durationUnit: 'seconds',
  maxNamesPerSession: 200,
  maxNames: { rpc: 2_000, sba: 2_000, object: 10_000 },
} as const;

const bytesOf = (pieces: Iterable<string>): number => {
  let bytes = 0;
  for (const piece of pieces) bytes += Buffer.byteLength(piece);
  return bytes;
};

it.each([
  ['quotes', (i: number) => `${i}`.padEnd(512, '"'), 1],
  ['three-byte characters', (i: number) => `${i}`.padEnd(512, '€'), 1],
  ['lone surrogates', (i: number) => `${i}`.padEnd(512, '\ud83d'), 1],
  ['names as long as all fit', (i: number) => `${i}`.padEnd(255, 'x'), 1],
  ['short names of several applications', (i: number) => `${i}`, 8],
])(
  'answers end with tables full of %s',
  (_, nameOf, count) => {
    const applications = Array.from({ length: count }, (_unused, at) => ({
      name: `application${at}`,
      statistics: createStatistics(OPTIONS, systemClock, { applications: count }),
      sessions: { created: { count: 0, durations: undefined }, countsByType: () => ({}) } as never,
      running: { size: 0, byName: () => [] },
      totals: new CallTotals(),
      targets: new CallTargets(systemClock),
    })) as unknown as RecordedApplication[];
    for (const { statistics } of applications) {
      for (let i = 0; i < 10_100; i += 1) {
        const name = nameOf(i);
        statistics.object.recordValue(name);
        if (i < 2_100)
          for (const calls of [statistics.rpc, statistics.sba]) calls.recordAnswered(name, i % 2 ? 200 : 501, 1e15);
      }
    }
    const tables = () => APPLICATION_METRICS.map((description) => createTable(description, applications));
    expect(bytesOf(renderTables(tables(), 'openmetrics'))).toBeLessThan(0.9 * MAX_ANSWER_BYTES);
    for (const { statistics } of applications) {
      const sets = [statistics.rpc, statistics.sba, statistics.object].map((kind) => kind.metrics());
      const dropwizard = renderMetrics(sets, { pretty: true, durationUnit: 'seconds' });
      expect(bytesOf(dropwizard)).toBeLessThan(0.9 * MAX_ANSWER_BYTES);
      expect(statistics.rpc.countsByName.has('(other)')).toBe(true);
    }
  },
  60_000,
);
