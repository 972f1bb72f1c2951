/**
 * Rules and dashboard in both forms of histograms, on a real Prometheus that has the same durations in both: each expression that
 * reads them, with the right values. Needs `prometheus`, of which 2.42 has no custom buckets. promtool reads no native histograms.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FAMILIES } from '../../../scripts/metric-files.ts';
import { DurationBuckets } from '../../../src/metrics/duration-buckets.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { queriesOf, readDashboard, substituted } from '../../support/grafana/dashboard.ts';
import type { PrometheusApi } from '../../support/prometheus/prometheus-api.ts';
import { remoteWrite, type WrittenSeries } from '../../support/prometheus/remote-write.ts';
import {
  FLEET_RULES_PATH,
  NATIVE_FLEET_RULES_PATH,
  NATIVE_RULES_PATH,
  RULES_PATH,
  readRuleGroups,
  writeQuickRules,
} from '../../support/prometheus/rules-file.ts';
import { hasPrometheus, startPrometheus } from '../prometheus-server.ts';

const WAIT = { timeout: 30_000, interval: 500 };
const MS = 1e6;
const STEP_MS = 15_000;
const STEPS = 140;
/** Each step adds these durations, so that half of all take 20 ms, and one of 20 takes 700 ms. */
const DURATIONS_MS = [...Array.from({ length: 19 }, () => 20), 700];
/** How far off percentiles are at most, within the bounds of `/metrics` and within exponential ones. */
const OFF = { classic: 1.6, native: 1.05 } as const;
const HISTOGRAMS = FAMILIES.filter(({ type }) => type === 'histogram');

const FORMS = ['classic', 'native', 'exponential'] as const;
type Form = (typeof FORMS)[number];

/** All histograms of a sidecar in one form. `exponential`: as OTLP has them, where the sidecar's own ones stay classic. */
function seriesOf(form: Form, nowMs: number): WrittenSeries[] {
  return HISTOGRAMS.flatMap(({ name, labels, bounds = [] }): WrittenSeries[] => {
    const values = { application: 'smartWeb', kind: 'rpc', name: 'E.A', direction: 'request' };
    const own = Object.fromEntries(labels.map((label) => [label, values[label as keyof typeof values]]));
    const all = { job: 'd2-sidecar', site: form, instance: form, ...own };
    const isNative = form === 'native' || (form === 'exponential' && !name.startsWith('d2_sidecar_'));
    const durations = new DurationBuckets({ seconds: bounds, ns: bounds.map((each) => each * 1e9) }, true);
    const readings = Array.from({ length: STEPS }, (_, step) => {
      for (const ms of step === 0 ? [] : DURATIONS_MS) durations.add(ms * MS);
      const { exponential, sumSeconds: sum } = durations;
      if (exponential === undefined) throw new Error('not exponential');
      const atMs = nowMs - (STEPS - 1 - step) * STEP_MS;
      return { atMs, sum, buckets: exponential, counts: durations.cumulative() };
    });
    if (isNative)
      return [
        {
          labels: { ...all, __name__: name },
          samples: readings.map(({ atMs, buckets, sum }) => ({ atMs, value: { buckets, sum } })),
        },
      ];
    const series = (suffix: string, more: object, pick: (reading: (typeof readings)[number]) => number) => ({
      labels: { ...all, __name__: name + suffix, ...more },
      samples: readings.map((reading) => ({ atMs: reading.atMs, value: pick(reading) })),
    });
    return [
      ...[...bounds, Number.POSITIVE_INFINITY].map((bound, i) =>
        series('_bucket', { le: Number.isFinite(bound) ? String(bound) : '+Inf' }, ({ counts }) => counts[i] ?? 0),
      ),
      series('_sum', {}, ({ sum }) => sum),
      series('_count', {}, ({ counts }) => counts.at(-1) ?? 0),
    ];
  });
}

/** Expressions of the rules that differ between the forms, and the alert or recording that has them. */
function differingRules(classic: string, native: string) {
  const [one, other] = [classic, native].map((file) => readRuleGroups(file).flatMap(({ rules }) => rules));
  return (one ?? []).flatMap(({ record, alert, expr }, i) => {
    const { expr: nativeExpr = '' } = other?.[i] ?? {};
    return expr === nativeExpr ? [] : [{ name: record ?? alert ?? '', classic: expr, native: nativeExpr }];
  });
}

const DASHBOARD = readDashboard();
const PANELS = queriesOf(DASHBOARD).flatMap(({ name, expr }, i) => {
  const native = queriesOf(DASHBOARD, 'native')[i]?.expr ?? '';
  return native === expr ? [] : [{ name, classic: expr, native }];
});

describe.runIf(hasPrometheus)('a Prometheus with classic and native histograms', { timeout: 60_000 }, () => {
  const defer = deferTo(afterAll);
  let prometheus: PrometheusApi;

  beforeAll(async () => {
    const rules = writeQuickRules(temporaryFolder(defer), NATIVE_RULES_PATH, NATIVE_FLEET_RULES_PATH);
    const flags = ['--enable-feature=native-histograms', '--web.enable-remote-write-receiver'];
    prometheus = await startPrometheus(defer, [], 'token', rules, { flags });
    const now = Date.now();
    const series = FORMS.flatMap((form) => seriesOf(form, now));
    await remoteWrite(prometheus.origin, series);
  });

  /** The values of an expression over one sidecar. */
  const valuesOf = async (expr: string) => (await prometheus.query(expr)).map(({ value }) => value);

  it.each(PANELS)('has the percentiles of the panel $name in all forms', async ({ classic, native }) => {
    for (const form of FORMS) {
      const variables = { job: 'd2-sidecar', instance: form, application: '.+', __rate_interval: '5m', __range: '30m' };
      const values = await valuesOf(substituted(form === 'classic' ? classic : native, variables));
      expect([form, values.length]).toEqual([form, 1]);
      const [, quantile = ''] = /histogram_quantile\((0\.\d+)/.exec(classic) ?? [];
      // 0.95 is the last of the quick ones.
      const wanted = quantile === '0.99' ? 0.7 : 0.02;
      const off = OFF[form === 'native' ? 'native' : 'classic'];
      expect(values[0]).toBeGreaterThan(wanted / off);
      expect(values[0]).toBeLessThan(wanted * off);
    }
  });

  it('finds expressions of both rule files that differ, and panels', () => {
    expect(PANELS.length).toBeGreaterThan(8);
    expect(differingRules(RULES_PATH, NATIVE_RULES_PATH).map(({ name }) => name)).toEqual([
      'application_kind:d2_call_duration_seconds:p99_30m',
      'D2SidecarSlow',
    ]);
    expect(differingRules(FLEET_RULES_PATH, NATIVE_FLEET_RULES_PATH)).toHaveLength(2);
  });

  it('evaluates the native rules without an error', async () => {
    await expect.poll(() => prometheus.unwellRules(), WAIT).toEqual([]);
  });

  it('has the values of each rule that differs in all forms', async () => {
    const p99 = 'application_kind:d2_call_duration_seconds:p99_30m';
    const [ofCalls, ofLoop] = differingRules(RULES_PATH, NATIVE_RULES_PATH);
    for (const form of FORMS) {
      const ofForm = (one: typeof ofCalls) => (form === 'classic' ? one?.classic : one?.native) ?? '';
      for (const expr of [ofForm(ofCalls), ofForm(ofLoop)]) {
        const [found, ...others] = (await prometheus.query(expr)).filter(({ labels }) => labels.site === form);
        expect([form, others]).toEqual([form, []]);
        expect([form, found?.value]).toEqual([form, expect.closeTo(0.7, 0)]);
        expect(found?.value).toBeGreaterThan(0.7 / OFF.classic);
        expect(found?.value).toBeLessThan(0.7 * OFF.classic);
      }
    }
    await expect.poll(() => valuesOf(`${p99}{site="native"}`), WAIT).toEqual([expect.closeTo(0.7, 1)]);
    const slow = async () => (await prometheus.rules()).find(({ name }) => name === 'D2SidecarSlow')?.state;
    await expect.poll(slow, WAIT).toBe('pending');
  });

  it('has the sums of a site and of the fleet', async () => {
    const perSecond = DURATIONS_MS.length / (STEP_MS / 1000);
    const seconds = DURATIONS_MS.reduce((all, ms) => all + ms / 1000, 0) / (STEP_MS / 1000);
    const recorded = 'site_application_kind_le:d2_call_duration_seconds_bucket:rate5m';
    const near = (value: number) => [expect.closeTo(value, 1)];
    // A rate right after the last sample is that of all of them.
    for (const site of ['native', 'exponential']) {
      await expect.poll(() => valuesOf(`histogram_count(${recorded}{site="${site}"})`), WAIT).toEqual(near(perSecond));
      const sum = `site_application_kind:d2_call_duration_seconds_sum:rate5m{site="${site}"}`;
      await expect.poll(() => valuesOf(sum), WAIT).toEqual(near(seconds));
    }
    await expect
      .poll(() => valuesOf('histogram_count(kind_le:d2_call_duration_seconds_bucket:rate5m)'), WAIT)
      .toEqual(near(2 * perSecond));
    await expect
      .poll(() => valuesOf('histogram_quantile(0.5, kind_le:d2_call_duration_seconds_bucket:rate5m)'), WAIT)
      .toEqual([expect.closeTo(0.02, 3)]);
    for (const { name, classic } of differingRules(FLEET_RULES_PATH, NATIVE_FLEET_RULES_PATH)) {
      const sums = (await prometheus.query(classic)).filter(({ labels }) => labels.site === 'classic');
      const most = Math.max(...sums.map(({ value }) => value));
      expect([name, most]).toEqual([name, expect.closeTo(name.includes('_sum') ? seconds : perSecond, 1)]);
    }
  });
});
