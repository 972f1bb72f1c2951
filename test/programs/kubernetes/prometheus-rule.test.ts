/** The copies of config/prometheus/rules.yml for Kubernetes equal that file, rule by rule. `npm run generate` writes them. */

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { at, buildKustomization, FOLDER, find, type Json, type Manifest } from '../../support/kubernetes/manifests.ts';
import {
  promtool,
  RULES_PATH,
  type Rule,
  type RuleGroup,
  readRuleGroups,
  readRules,
} from '../../support/prometheus/rules-file.ts';
import { hasPrometheus } from '../prometheus-server.ts';
import { canRender, Renderer } from './helm/helm.ts';

const CHART = path.join(FOLDER, 'chart');
const BASE = 'https://git.plant.example/d2-sidecar/blob/main';
const defer = deferTo(afterAll);
const folder = temporaryFolder(defer);

const groupsOf = (manifests: readonly Manifest[]) => at(find(manifests, 'PrometheusRule'), 'spec', 'groups');

function expectPromtoolToTake(groups: Json): void {
  if (!hasPrometheus) return;
  const file = path.join(folder, 'rules.yml');
  writeFileSync(file, stringify({ groups }));
  const { status, output } = promtool('check', 'rules', '--lint=all', '--lint-fatal', file);
  expect([status, output]).toEqual([0, expect.stringContaining(`SUCCESS: ${readRules().length} rules found`)]);
}

it('the PrometheusRule for kustomize has the rules of the file', () => {
  const groups = groupsOf(buildKustomization(path.join(FOLDER, 'examples/tomcat')));
  expect(groups).toEqual(readRuleGroups());
  expectPromtoolToTake(groups);
});

it('the chart has the file', () => {
  expect(readFileSync(path.join(CHART, 'rules.yml'), 'utf8')).toBe(readFileSync(RULES_PATH, 'utf8'));
});

it('the example for kustomize has the label by which kube-prometheus-stack selects', () => {
  const manifests = buildKustomization(path.join(FOLDER, 'examples/tomcat'));
  const isLabelled = ({ content }: Manifest) => Object(at(content, 'metadata')).labels?.release !== undefined;
  expect(manifests.filter(isLabelled).map(({ kind }) => kind)).toEqual(['PrometheusRule', 'ServiceMonitor']);
});

describe.skipIf(!canRender)('the PrometheusRule of the chart', () => {
  let renderer: Renderer;
  beforeAll(() => {
    renderer = new Renderer();
    defer(() => renderer.close());
  }, 240_000);

  const render = (prometheusRule: Json) =>
    renderer.render(CHART, {
      image: { repository: 'registry.example/d2-sidecar' },
      upstream: { url: 'http://d2000.plant.example:8080/smartWeb' },
      monitoring: { enabled: true, prometheusRule },
    });

  it('has the rules of the file, with the braces of Prometheus templates', () => {
    const groups = groupsOf(render({ enabled: true }));
    expect(groups).toEqual(readRuleGroups());
    expect(JSON.stringify(groups)).toContain('{{ $labels.instance }}');
    expectPromtoolToTake(groups);
  });

  it.each([BASE, `${BASE}/`])('links to runbooks at the given address: %s', (runbookBaseUrl) => {
    const groups = groupsOf(render({ enabled: true, runbookBaseUrl }));
    expect(groups).toEqual(withBase(readRuleGroups()));
    expectPromtoolToTake(groups);
  });

  it('is absent by default', () => {
    expect(render({}).map(({ kind }) => kind)).not.toContain('PrometheusRule');
  });
});

function withBase(groups: readonly RuleGroup[]): readonly RuleGroup[] {
  const linked = ({ annotations, ...rule }: Rule): Rule =>
    annotations === undefined
      ? rule
      : { ...rule, annotations: { ...annotations, runbook_url: `${BASE}/${annotations.runbook_url ?? ''}` } };
  return groups.map(({ rules, ...group }) => ({ ...group, rules: rules.map(linked) }));
}
