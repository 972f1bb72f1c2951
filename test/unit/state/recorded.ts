/** Everything that is shown of what a recorder has counted, so that two of them can be compared. */
import type { MetricSet } from '../../../src/metrics/metric-set.ts';
import { unionOf } from '../../../src/metrics/metric-set.ts';
import type { Statistics } from '../../../src/metrics/statistics.ts';
import type { Traffic } from '../../support/measure/record/traffic.ts';

export function shownOf(traffic: Traffic, name = 'smartWeb'): unknown {
  const { statistics, sessions } = traffic.application(name);
  const { exchanges, aborted, unanswered, counts, added, claimsRefused, comet } = traffic.recorder.own;
  const { holds, unread, untracked } = comet;
  return {
    all: valuesOf(unionOf(setOf(statistics), sessions.metrics())),
    counts: [statistics.rpc, statistics.sba].map((calls) =>
      [...calls.countsByName].map(([of, { ok, clientErrors, errors, durations }]) => ({
        ...{ of, ok, clientErrors, errors, sum: durations.sumSeconds, buckets: durations.cumulative() },
      })),
    ),
    folded: [statistics.rpc, statistics.sba, statistics.object].map(({ foldedCount }) => foldedCount),
    sessionsByType: sessions.countsByType(),
    sessions: [...sessions.entries()].map((entry) => {
      const session = sessions.find(entry.id);
      if (session === undefined) throw new Error(`no session ${entry.id}`);
      return { entry, metrics: valuesOf(unionOf(setOf(session.statistics), session.metrics())) };
    }),
    own: { exchanges, aborted, unanswered, counts, added, claimsRefused },
    comet: { counts: comet.counts, unread, untracked, holds: { ...holds, duration: holds.duration.snapshot() } },
  };
}

function setOf({ rpc, sba, object }: Pick<Statistics, 'rpc' | 'sba' | 'object'>): MetricSet {
  return unionOf(rpc.metrics(), sba.metrics(), object.metrics());
}

function valuesOf({ gauges, counters, meters, timers }: MetricSet): unknown {
  const rows = [
    ...[...gauges].map(([name, gauge]) => [name, gauge.read()] as const),
    ...[...counters].map(([name, { count }]) => [name, count] as const),
    ...[...meters].map(([name, meter]) => [name, meter.snapshot()] as const),
    ...[...timers].map(([name, timer]) => [`timer ${name}`, timer.snapshot(), timer.durations?.cumulative()] as const),
  ];
  return rows.sort(([a], [b]) => (a < b ? -1 : 1));
}
