import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT, run } from '../../support/install/run.ts';
import {
  at,
  buildKustomization,
  containerOf,
  FOLDER,
  find,
  type Json,
  type Manifest,
  podOf,
} from '../../support/kubernetes/manifests.ts';
import { typeCheck, validate } from '../../support/kubernetes/schemas.ts';
import { canRender, Renderer } from './helm/helm.ts';

const { version: VERSION } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
const CHART = path.join(FOLDER, 'chart');

/** Separate programs are run many times. */
const SLOW = 120_000;
const URL = 'http://d2000.plant.example:8080/smartWeb';
const BASE = 'https://git.plant.example/d2-sidecar/blob/main';
const image = { repository: 'registry.example/d2-sidecar' };
const least = { image, upstream: { url: URL } };
const all = {
  ...least,
  image: { ...image, tag: '1.2.3', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  config: { limits: { connections: 100 }, stop: { window: '3s' }, jvm: { source: 'none' } },
  resources: { limits: { cpu: 2 } },
  service: { type: 'LoadBalancer', port: 8080, annotations: { 'example/kind': 'internal' } },
  podLabels: { plant: 'north' },
  podAnnotations: { 'example/scrape': 'no' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'plant', operator: 'Exists', effect: 'NoSchedule' }],
  strategy: { type: 'Recreate' },
  fsGroup: 1000650000,
  extraVolumes: [{ name: 'tls', secret: { secretName: 'plant-tls', defaultMode: 0o440 } }],
  extraVolumeMounts: [{ name: 'tls', mountPath: '/etc/d2-sidecar-tls', readOnly: true }],
  extraEnv: [{ name: 'JVM_PASSWORD', valueFrom: { secretKeyRef: { name: 'plant-jvm', key: 'password' } } }],
  extraEnvFrom: [{ secretRef: { name: 'plant-keys' } }],
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } },
  monitoring: {
    enabled: true,
    serviceMonitor: { enabled: true },
    podMonitor: { enabled: true },
    prometheusRule: { enabled: true, runbookBaseUrl: 'https://git.plant.example/d2-sidecar' },
    labels: { release: 'prometheus' },
  },
  networkPolicy: { enabled: true, prometheusNamespace: 'prometheus' },
};
const { extraVolumes, extraVolumeMounts, extraEnv, extraEnvFrom } = all;
const extras = { extraVolumes, extraVolumeMounts, extraEnv, extraEnvFrom };
const inside = (values: { readonly [key: string]: Json } = {}) => ({ 'd2-sidecar': { image, ...values } });

describe.skipIf(!canRender)('the chart', { timeout: SLOW }, () => {
  const defer = deferTo(afterAll);
  const example = path.join(temporaryFolder(defer), 'chart');
  let renderer: Renderer;
  beforeAll(() => {
    renderer = new Renderer(defer);
    cpSync(path.join(FOLDER, 'examples/chart'), example, { recursive: true });
    // Like `helm dependency update`.
    cpSync(CHART, path.join(example, 'charts/d2-sidecar'), { recursive: true });
  }, 240_000);

  const render = (values: Json) => renderer.render(CHART, values);
  const specOf = (manifests: readonly Manifest[]) => podOf(find(manifests, 'Deployment'));
  const sidecarOf = (manifests: readonly Manifest[]) => containerOf(specOf(manifests));

  it('gives manifests that match the published schemas, with all kinds of values', () => {
    const open = inside({ ...extras, monitoring: all.monitoring, networkPolicy: { enabled: true } });
    const manifests = [
      ...[least, all].flatMap(render),
      ...[inside(), open].flatMap((values) => renderer.render(example, values)),
    ];
    expect(validate(manifests)).toEqual([]);
    expect(typeCheck(manifests)).toEqual([]);
  });

  it('gives a gateway, and no more than that, by default', () => {
    const kinds = ['ConfigMap', 'Deployment', 'Service'];
    expect(render(least).map(({ kind }) => kind)).toEqual(kinds);
    // An open monitoring port brings no rules.
    const open = { ...least, monitoring: { enabled: true } };
    expect(render(open).map(({ kind }) => kind)).not.toContain('PrometheusRule');
    expect(renderer.notes(CHART, least)).toContain('http://plant-d2-sidecar.plant:80 in place of');
  });

  it.each([
    ['the least', least, {}],
    ['all', all, { limits: { connections: 100 }, stop: { delay: '5s', window: '3s' } }],
  ])('writes a configuration that the sidecar accepts, with %s values', async (_, values, more) => {
    const text = String(at(find(render(values), 'ConfigMap'), 'data', 'sidecar.yaml'));
    expect(parse(text)).toMatchObject({ upstream: { url: URL }, jvm: { source: 'none' }, ...more });
    const file = path.join(example, 'sidecar.yaml');
    writeFileSync(file, text);
    expect(await run(process.execPath, ['dist/main.js', 'check', '--config', file])).toMatchObject({ code: 0 });
  });

  it('has the container of the kustomizations, as a native sidecar and as a gateway', () => {
    const same = { image: `${image.repository}:${VERSION}`, imagePullPolicy: 'IfNotPresent' };
    const kustomized = (name: string) => ({
      ...Object(sidecarOf(buildKustomization(path.join(FOLDER, name)))),
      ...same,
    });
    expect(sidecarOf(render(least))).toEqual(kustomized('gateway'));
    expect(sidecarOf(renderer.render(example, inside()))).toEqual(kustomized('examples/minimal'));
    const open = renderer.render(example, inside({ monitoring: { enabled: true } }));
    expect(sorted(sidecarOf(open))).toEqual(sorted(kustomized('examples/tomcat')));
  });

  it('renders no image without a name, and says how to get one', () => {
    const told = /image\.repository: missing, expected .* There is no public image.* docker build .* docker push /;
    expect(() => render({ upstream: { url: URL } })).toThrow(told);
    expect(() => renderer.render(example, {})).toThrow(told);
  });

  it('gives the container more volumes and variables, in the gateway as in the Pod of another chart', () => {
    for (const manifests of [render({ ...least, ...extras }), renderer.render(example, inside(extras))]) {
      const [spec, sidecar] = [specOf(manifests), sidecarOf(manifests)];
      expect(at(spec, 'volumes')).toEqual(expect.arrayContaining(extras.extraVolumes));
      expect(at(sidecar, 'volumeMounts')).toEqual(expect.arrayContaining(extras.extraVolumeMounts));
      expect([at(sidecar, 'env'), at(sidecar, 'envFrom')]).toEqual([extras.extraEnv, extras.extraEnvFrom]);
      // Its access to them is through this group, since it is not root.
      expect(at(spec, 'securityContext', 'fsGroup')).toBe(65532);
      expect(at(sidecar, 'securityContext')).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
    }
    const names = (at(sidecarOf(render(all)), 'env') as Json[]).map((one) => at(one, 'name'));
    expect(names).toEqual(['D2_SIDECAR_MONITOR_HOST', 'D2_SIDECAR_MONITOR_AUTH_TOKENS_FILE', 'JVM_PASSWORD']);
  });

  it('leaves the group of volumes to the cluster and replaces Pods as the values say', () => {
    const spec = at(find(render({ ...all, fsGroup: null }), 'Deployment'), 'spec');
    expect(Object(at(spec, 'template', 'spec'))).not.toHaveProperty('securityContext');
    expect(at(spec, 'strategy')).toEqual({ type: 'Recreate' });
  });

  const { labels: _, ...unlabelled } = all.monitoring;

  it.each(['ServiceMonitor', 'PodMonitor', 'PrometheusRule'])('labels the %s so that Prometheus finds it', (kind) => {
    const labels = (values: Json) => at(find(render(values), kind), 'metadata', 'labels');
    expect(labels(all)).toMatchObject({ release: 'prometheus' });
    expect(labels({ ...all, monitoring: unlabelled })).not.toHaveProperty('release');
  });

  it.each(['', BASE, `${BASE}/`])('has the rules of the file, with runbooks at the address: %s', (runbookBaseUrl) => {
    const given = runbookBaseUrl === '' ? {} : { runbookBaseUrl };
    const monitoring = { enabled: true, prometheusRule: { enabled: true, ...given } };
    const groups = at(find(render({ ...least, monitoring }), 'PrometheusRule'), 'spec', 'groups');
    const expected = readFileSync(path.join(CHART, 'rules.yml'), 'utf8').replaceAll(
      'runbook_url: docs/',
      `runbook_url: ${runbookBaseUrl === '' ? '' : `${BASE}/`}docs/`,
    );
    expect(groups).toEqual(parse(expected).groups);
    // The braces of Prometheus' templates are not the chart's.
    expect(JSON.stringify(groups)).toContain('{{ $labels.instance }}');
  });

  it('warns that monitors without a label may not be found', () => {
    const isWarned = (values: Json) => renderer.notes(CHART, values).includes('No monitoring.labels are set');
    expect([{ ...all, monitoring: unlabelled }, all, least].map(isWarned)).toEqual([true, false, false]);
  });

  it.each(['serviceMonitor', 'podMonitor', 'prometheusRule'])('refuses %s without an open port', (name) => {
    const values = { ...least, monitoring: { [name]: { enabled: true } } };
    expect(() => render(values)).toThrow(`monitoring.${name}.enabled: nothing can be scraped`);
  });

  const badRunbook = { monitoring: { prometheusRule: { runbookBaseUrl: 'docs' } } };
  it.each<[string, Json, string]>([
    ['no upstream', {}, '/upstream/url: must match pattern'],
    ['an upstream that is not an address', { upstream: { url: 'd2000:8080' } }, '/upstream/url: must match pattern'],
    ['the upstream in two places', { config: { upstream: { url: URL } } }, '/config/upstream: must NOT be valid'],
    ['an unknown key', { replicas: 2 }, 'must NOT have additional properties {"additionalProperty":"replicas"}'],
    ['an unknown mode', { mode: 'proxy' }, '/mode: must be equal to one of the allowed values'],
    ['a port that is a string', { service: { port: '80' } }, '/service/port: must be integer'],
    ['a volume without a name', { extraVolumes: [{ secret: { secretName: 'x' } }] }, '/extraVolumes/0: must have'],
    ['a mount without a path', { extraVolumeMounts: [{ name: 'x' }] }, '/extraVolumeMounts/0: must have'],
    ['a variable without a name', { extraEnv: [{ value: 'x' }] }, '/extraEnv/0: must have'],
    ['an invalid address of runbooks', badRunbook, '/monitoring/prometheusRule/runbookBaseUrl: must match pattern'],
    ['the removed key plainContainer', { plainContainer: true }, '{"additionalProperty":"plainContainer"}'],
  ])('refuses %s', (name, values, message) => {
    expect(() => render(name === 'no upstream' ? {} : { ...least, ...Object(values) })).toThrow(message);
  });
});

/** With lists of named things sorted by name: kustomize puts its additions in front. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) {
    const isNamed = value.every((one) => typeof one === 'object');
    const inner = value.map(sorted);
    return isNamed ? inner.sort((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)) : inner;
  }
  if (typeof value !== 'object' || value === null) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted((value as Record<string, unknown>)[key])]));
}
