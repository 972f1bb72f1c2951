/**
 * The alerts of config/prometheus/, evaluated by promtool on the series of `rules/*.yml`. Those are files for
 * `promtool test rules`, without two of the three annotations: only `summary` contains values, so they expect only that.
 * promtool evaluates groups in any order without `group_eval_order`, and an alert does not see recordings that come after it.
 * Needs Debian's `prometheus`.
 */

import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { isAvailable } from '../../support/programs.ts';
import { promtool, RULES_PATH, readAlerts, readRuleGroups, readRules } from '../../support/prometheus/rules-file.ts';
import { isPrometheusInstalled } from '../prometheus-server.ts';

const CASES = path.join(import.meta.dirname, 'rules');
const CASE_FILES = readdirSync(CASES);
const DOCUMENT = readFileSync(new URL('../../../docs/prometheus.md', import.meta.url), 'utf8');

const isInstalled = isAvailable('Prometheus', isPrometheusInstalled());

interface AlertTest {
  readonly alertname: string;
  readonly exp_alerts: readonly unknown[];
}

function readAlertTests(): readonly AlertTest[] {
  return CASE_FILES.flatMap((file) => {
    const { tests } = parse(readFileSync(path.join(CASES, file), 'utf8')) as {
      tests: { alert_rule_test?: AlertTest[] }[];
    };
    return tests.flatMap(({ alert_rule_test = [] }) => alert_rule_test);
  });
}

describe.runIf(isInstalled)('promtool', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-rules-'));

  beforeAll(() => {
    const groups = readRuleGroups().map(({ rules, ...group }) => ({
      ...group,
      rules: rules.map(({ annotations, ...rule }) =>
        annotations === undefined ? rule : { ...rule, annotations: { summary: annotations.summary } },
      ),
    }));
    writeFileSync(path.join(folder, 'rules.yml'), stringify({ groups }));
    cpSync(CASES, folder, { recursive: true });
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  // Groups that are not named come in any order: an alert before its recordings would see nothing new.
  it.each(CASE_FILES)('gets the order of all groups from %s', (file) => {
    const { group_eval_order: order } = parse(readFileSync(path.join(CASES, file), 'utf8')) as {
      group_eval_order?: string[];
    };
    expect(order).toEqual(readRuleGroups().map(({ name }) => name));
  });

  it('accepts the rules', () => {
    const { status, output } = promtool('check', 'rules', '--lint=all', '--lint-fatal', RULES_PATH);
    expect([status, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${readRules().length} rules found`)]);
  });

  it.each(CASE_FILES)('sees alerts fire when they should, and only then: %s', { timeout: 120_000 }, (file) => {
    expect(promtool('test', 'rules', path.join(folder, file)).output).toMatch(/^Unit Testing: .*\n +SUCCESS\n+$/);
  });
});

describe('every alert', () => {
  const alerts = readAlerts();

  it('has a test in which it fires, and one in which it does not', () => {
    const tests = readAlertTests();
    const named = (wanted: (test: AlertTest) => boolean) => [
      ...new Set(tests.filter(wanted).map(({ alertname }) => alertname)),
    ];
    const names = alerts.map(({ alert }) => alert).sort();
    expect(named(({ exp_alerts }) => exp_alerts.length > 0).sort()).toEqual(names);
    expect(named(({ exp_alerts }) => exp_alerts.length === 0).sort()).toEqual(names);
  });

  it.each(alerts.map((rule) => [rule.alert, rule] as const))('says how bad it is and what to do: %s', (name, rule) => {
    expect(rule.labels).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) });
    const { summary = '', description = '', runbook_url: runbook, ...others } = rule.annotations ?? {};
    expect(others).toEqual({});
    expect(summary).toMatch(/^[^\n]{20,}[^.\n]$/);
    expect(description).toMatch(/^[^\n]{60,}\.$/);
    // It contains no values, which the tests of promtool would have to expect.
    expect(description).not.toContain('{{');
    expect(runbook).toBe(`docs/prometheus.md#${name.toLowerCase()}`);
  });

  it('has a section of its own in docs/prometheus.md', () => {
    const sections = [...DOCUMENT.matchAll(/^#### (D2\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
  });
});
