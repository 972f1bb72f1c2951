import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT, readDocument } from '../../support/docs/documents.ts';
import { toCommandLines } from '../../support/docs/shell.ts';
import {
  at,
  buildKustomization,
  containerOf,
  containersOf,
  FOLDER,
  find,
  isComponent,
  type Json,
  type Manifest,
  podOf,
} from '../../support/kubernetes/manifests.ts';
import { typeCheck } from '../../support/kubernetes/schemas.ts';

const folders = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((file) => path.basename(file) === 'kustomization.yaml')
  .map((file) => path.dirname(path.join(FOLDER, file)));
const whole = folders.filter((folder) => !isComponent(folder));
const manifests = whole.flatMap(buildKustomization);
const manifestsOf = (folder: string) => manifests.filter(({ source }) => source.startsWith(`${folder}:`));

/** The compiler and kustomize are separate programs, and run many times. */
const SLOW = 120_000;

it('the manifests match the published schemas, and monitors have the label of kube-prometheus-stack', {
  timeout: SLOW,
}, () => {
  expect(typeCheck(manifests)).toEqual([]);
  const isLabelled = ({ content }: Manifest) => Object(at(content, 'metadata')).labels?.release !== undefined;
  const labelled = manifestsOf('examples/tomcat').filter(isLabelled);
  expect(labelled.map(({ kind }) => kind)).toEqual(['PrometheusRule', 'ServiceMonitor']);
});

describe('the Pods', { timeout: SLOW }, () => {
  const sidecarOf = (deployment: Manifest) => containerOf(podOf(deployment.content));
  const pods = manifests.filter((one) => one.kind === 'Deployment' && sidecarOf(one) !== null);
  const eachPod = it.each(pods.map((pod) => [pod.source, pod] as const));

  const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));

  eachPod('%s: the sidecar has no more rights than it needs, and an image that has to be replaced', (from, pod) => {
    expect(Object(sidecarOf(pod)).restartPolicy).toBe(from.startsWith('gateway') ? undefined : 'Always');
    expect(at(podOf(pod.content), 'automountServiceAccountToken')).toBe(false);
    // .invalid is reserved (RFC 2606 section 2), so the name that kubelet repeats with ImagePullBackOff is an instruction.
    expect(at(sidecarOf(pod), 'image')).toBe(`set-your-registry.invalid/d2-sidecar:${version}`);
    expect(at(sidecarOf(pod), 'securityContext')).toEqual({
      ...{ runAsNonRoot: true, readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
      ...{ capabilities: { drop: ['ALL'] }, seccompProfile: { type: 'RuntimeDefault' } },
    });
  });

  eachPod('%s: there is time for all that ends', (_, pod) => {
    const others = containersOf(podOf(pod.content)).filter((container) => at(container, 'name') !== 'd2-sidecar');
    const commandOf = (container: Json) =>
      at(container, 'lifecycle', 'preStop', 'exec', 'command') as readonly string[];
    const drainS = Number.parseInt(commandOf(sidecarOf(pod)).at(-1) ?? '', 10);
    // A process that ended at once would cut the connections that the sidecar drains.
    for (const other of others) expect(commandOf(other)).toEqual(['sleep', String(drainS)]);
    const [from = ''] = pod.source.split(':');
    const { stop } = parse(String(at(find(manifestsOf(from), 'ConfigMap'), 'data', 'sidecar.yaml')));
    const seconds = (key: string) => Number.parseInt(stop[key], 10);
    expect(seconds('delay') + seconds('window')).toBeLessThan(drainS);
    const applicationS = others.length === 0 ? 0 : 15;
    const graceS = at(podOf(pod.content), 'terminationGracePeriodSeconds');
    expect(graceS).toBeGreaterThanOrEqual(drainS + applicationS + seconds('deadline'));
  });

  it('get clients from outside by the Service of the example', () => {
    for (const [from, kind, ...backend] of [
      ['examples/ingress', 'Ingress', 'http', 'paths', 0, 'backend', 'service'],
      ['examples/http-route', 'HTTPRoute', 'backendRefs', 0],
    ] as const) {
      const own = manifestsOf(from);
      const { name, port } = Object(at(find(own, kind), 'spec', 'rules', 0, ...backend));
      const service = find(own, 'Service');
      expect(name).toBe(at(service, 'metadata', 'name'));
      expect(at(service, 'spec', 'ports', 0)).toMatchObject(typeof port === 'number' ? { port } : port);
    }
  });
});

describe('after the `sed` commands of the documents', { timeout: SLOW }, () => {
  const copy = temporaryFolder(deferTo(afterAll));
  cpSync(path.join(ROOT, 'config'), path.join(copy, 'config'), { recursive: true });

  function edit(document: string, text: string): void {
    const lines = readDocument(document)
      .fences.filter(({ language }) => language === 'sh')
      .flatMap((fence) => toCommandLines(fence.text))
      .filter((line) => line.text.startsWith('sed -i') && line.text.includes(text));
    expect(lines).toHaveLength(1);
    const { status, stderr } = spawnSync('sh', ['-c', lines[0]?.text ?? ''], { cwd: copy, encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  }

  it('the manifests have the image of the reader’s registry, and no placeholder', () => {
    edit('docs/kubernetes.md', 'newName');
    for (const name of ['gateway', 'examples/minimal', 'examples/tomcat', 'examples/tomcat-pod-monitor']) {
      const edited = buildKustomization(path.join(copy, 'config/kubernetes', name));
      const text = JSON.stringify(edited.map(({ content }) => content));
      expect(text).toContain('"registry.example/d2-sidecar:0.1.0"');
      expect(text).not.toContain('.invalid');
    }
  });

  it('the alerts link to their runbooks, in the file of rules and in the PrometheusRule for kustomize', () => {
    edit('docs/prometheus.md', 'runbook_url');
    edit('docs/kubernetes.md', 'runbook_url');
    const { anchors } = readDocument('docs/prometheus.md');
    for (const file of ['config/prometheus/rules.yml', 'config/kubernetes/prometheus-rule/prometheus-rule.yaml']) {
      const links = readFileSync(path.join(copy, file), 'utf8').match(/(?<=runbook_url: ).*/g) ?? [];
      expect(links.length).toBeGreaterThan(20);
      for (const link of links) {
        const [address, anchor = ''] = link.split('#');
        expect(address).toBe('https://git.plant.example/d2-sidecar/blob/main/docs/prometheus.md');
        expect(anchors).toContain(anchor);
      }
    }
  });
});
