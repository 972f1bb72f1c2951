/** The alerts of config/prometheus/, evaluated by promtool on the series of `rules/*.yml`. Needs Debian's `prometheus`. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseDocument, stringify, type YAMLSeq } from 'yaml';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import {
  FLEET_RULES_PATH,
  NATIVE_FLEET_RULES_PATH,
  NATIVE_RULES_PATH,
  promtool,
  RULES_PATH,
  readAlerts,
  readRuleGroups,
  readRules,
} from '../../support/prometheus/rules-file.ts';
import { hasPrometheus } from '../prometheus-server.ts';

const CASES = path.join(import.meta.dirname, 'rules');
const CASE_FILES = readdirSync(CASES);
const DOCUMENT = readFileSync(new URL('../../../docs/prometheus.md', import.meta.url), 'utf8');

interface CaseFile {
  readonly group_eval_order?: readonly string[];
  readonly tests: readonly { alert_rule_test?: readonly { alertname: string; exp_alerts: readonly unknown[] }[] }[];
}

const readCases = (file: string) => parse(readFileSync(path.join(CASES, file), 'utf8')) as CaseFile;

const textOf = (file: string) => readFileSync(path.join(CASES, file), 'utf8');

/** Of promtool's cases, those without classic histograms: it reads no native ones, which native.test.ts has. */
function toNativeCases(file: string): string {
  // As a document, since a series like `0x10` would become a number.
  const document = parseDocument(textOf(file));
  const tests = document.get('tests', true) as YAMLSeq;
  tests.items = tests.items.filter((test) => !/\w_bucket\b/.test(String(test)));
  return String(document);
}

describe.runIf(hasPrometheus).each([
  ['classic', RULES_PATH, textOf],
  ['native', NATIVE_RULES_PATH, toNativeCases],
] as const)('promtool, with %s histograms', (_, rulesPath, casesOf) => {
  const folder = temporaryFolder(deferTo(afterAll));

  beforeAll(() => {
    const groups = readRuleGroups(rulesPath).map(({ rules, ...group }) => ({
      ...group,
      rules: rules.map(({ annotations, ...rule }) =>
        annotations === undefined ? rule : { ...rule, annotations: { summary: annotations.summary } },
      ),
    }));
    writeFileSync(path.join(folder, 'rules.yml'), stringify({ groups }));
    for (const file of CASE_FILES) writeFileSync(path.join(folder, file), casesOf(file));
  });

  // Groups that are not named come in any order: an alert before its recordings would see nothing new.
  it.each(CASE_FILES)('gets the order of all groups from %s', (file) => {
    expect(readCases(file).group_eval_order).toEqual(readRuleGroups(rulesPath).map(({ name }) => name));
  });

  it('accepts the rules', () => {
    const { status, output } = promtool('check', 'rules', '--lint=all', '--lint-fatal', rulesPath);
    expect([status, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${readRules().length} rules found`)]);
  });

  it.each(CASE_FILES)('sees alerts fire when they should, and only then: %s', { timeout: 120_000 }, (file) => {
    expect(promtool('test', 'rules', path.join(folder, file)).output).toMatch(/^Unit Testing: .*\n +SUCCESS\n+$/);
  });
});

describe.runIf(hasPrometheus)('promtool, of the rules of a fleet', () => {
  const folder = temporaryFolder(deferTo(afterAll));

  it('accepts them, and finds the sums of each site and of all', () => {
    for (const file of [FLEET_RULES_PATH, NATIVE_FLEET_RULES_PATH])
      expect(promtool('check', 'rules', '--lint=all', '--lint-fatal', file).status).toBe(0);
    cpSync(FLEET_RULES_PATH, path.join(folder, 'fleet.yml'));
    cpSync(path.join(import.meta.dirname, 'fleet'), folder, { recursive: true });
    expect(promtool('test', 'rules', path.join(folder, 'levels.yml')).output).toMatch(
      /^Unit Testing: .*\n +SUCCESS\n+$/,
    );
  });
});

describe('every alert', () => {
  const alerts = readAlerts();

  it('has a test in which it fires, and one in which it does not', () => {
    const tests = CASE_FILES.flatMap((file) =>
      readCases(file).tests.flatMap(({ alert_rule_test = [] }) => alert_rule_test),
    );
    for (const fires of [true, false]) {
      const named = tests.filter(({ exp_alerts }) => exp_alerts.length > 0 === fires).map(({ alertname }) => alertname);
      expect(new Set(named)).toEqual(new Set(alerts.map(({ alert }) => alert)));
    }
  });

  it.each(alerts)('says how bad it is and what to do: $alert', ({ alert, labels, annotations }) => {
    expect(labels).toEqual({ severity: expect.stringMatching(/^(critical|warning)$/) });
    expect(annotations).toEqual({
      summary: expect.stringMatching(/^[^\n]{20,}[^.\n]$/),
      // It contains no values, which the tests of promtool would have to expect.
      description: expect.stringMatching(/^(?:(?!\{\{)[^\n]){60,}\.$/),
      runbook_url: `docs/prometheus.md#${alert.toLowerCase()}`,
    });
  });

  it('has its own section in docs/prometheus.md', () => {
    const sections = [...DOCUMENT.matchAll(/^#### (D2\w+)$/gm)].map(([, name]) => name);
    expect(sections).toEqual(alerts.map(({ alert }) => alert));
  });
});
