/** The `sed` commands of the documents, run on a copy of config/: afterwards images and runbooks point to the reader's places. */
import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT, readDocument } from '../../support/docs/documents.ts';
import { toCommandLines } from '../../support/docs/shell.ts';
import { buildKustomization } from '../../support/kubernetes/manifests.ts';
import type { RuleGroup } from '../../support/prometheus/rules-file.ts';

const BASE = 'https://git.plant.example/d2-sidecar/blob/main/';

const defer = deferTo(afterEach);
let copy: string;
beforeEach(() => {
  copy = temporaryFolder(defer);
  cpSync(path.join(ROOT, 'config'), path.join(copy, 'config'), { recursive: true });
});

function edit(document: string, text: string): void {
  const lines = readDocument(document)
    .fences.filter(({ language }) => language === 'sh')
    .flatMap((fence) => toCommandLines(fence.text))
    .filter((line) => line.text.startsWith('sed -i') && line.text.includes(text));
  expect(lines).toHaveLength(1);
  const { status, stderr } = spawnSync('sh', ['-c', lines[0]?.text ?? ''], { cwd: copy, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
}

function expectLinks(groups: readonly RuleGroup[]): void {
  const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);
  const { anchors } = readDocument('docs/prometheus.md');
  expect(alerts.length).toBeGreaterThan(20);
  for (const { annotations } of alerts) {
    const [address, anchor = ''] = annotations?.runbook_url?.split('#') ?? [];
    expect(address).toBe(`${BASE}docs/prometheus.md`);
    expect(anchors).toContain(anchor);
  }
}

const read = (file: string) => readFileSync(path.join(copy, file), 'utf8');

it('the manifests have the image of the reader’s registry, and no placeholder', () => {
  edit('docs/kubernetes.md', 'newName');
  for (const name of ['gateway', 'examples/minimal', 'examples/tomcat', 'examples/tomcat-pod-monitor']) {
    const manifests = buildKustomization(path.join(copy, 'config/kubernetes', name));
    const text = JSON.stringify(manifests.map(({ content }) => content));
    expect(text).toContain('"registry.example/d2-sidecar:0.1.0"');
    expect(text).not.toContain('.invalid');
  }
});

it('the alerts link to their runbooks, in the file of rules and in the PrometheusRule for kustomize', () => {
  edit('docs/prometheus.md', 'runbook_url');
  expectLinks(parse(read('config/prometheus/rules.yml')).groups);
  edit('docs/kubernetes.md', 'runbook_url');
  expectLinks(parse(read('config/kubernetes/prometheus-rule/prometheus-rule.yaml')).spec.groups);
});
