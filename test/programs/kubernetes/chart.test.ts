import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ROOT, run } from '../../support/install/run.ts';
import { at, buildKustomization, FOLDER, find, type Json } from '../../support/kubernetes/manifests.ts';
import { UNKNOWN, withUnknownKeys } from '../../support/kubernetes/mutations.ts';
import { typeCheck, validate } from '../../support/kubernetes/schemas.ts';
import { isAvailable } from '../../support/programs.ts';
import { Renderer, whyNot } from './helm/helm.ts';

const { version: VERSION } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
const CHART = path.join(FOLDER, 'chart');
const reason = whyNot();
isAvailable('Helm’s engine in Go', reason === undefined);

/** Separate programs are run many times. */
const SLOW = 120_000;
const URL = 'http://d2000.plant.example:8080/smartWeb';
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
/** The chart that depends on this one, with these values for it. */
const inside = (values: { readonly [key: string]: Json } = {}) => ({ 'd2-sidecar': { image, ...values } });

describe.skipIf(reason !== undefined)('the chart', () => {
  let renderer: Renderer;
  let example: string;
  beforeAll(() => {
    renderer = new Renderer();
    example = mkdtempSync(path.join(tmpdir(), 'd2s-chart-'));
    cpSync(path.join(FOLDER, 'examples/chart'), example, { recursive: true });
    // Like `helm dependency update`.
    cpSync(CHART, path.join(example, 'charts/d2-sidecar'), { recursive: true });
  }, 240_000);
  afterAll(() => {
    renderer?.close();
    rmSync(example, { recursive: true, force: true });
  });

  it(
    'gives manifests that match the published schemas, with all kinds of values',
    () => {
      const open = inside({ ...extras, monitoring: all.monitoring, networkPolicy: { enabled: true } });
      const manifests = [
        ...[least, all].flatMap((values) => renderer.render(CHART, values)),
        ...[inside(), open].flatMap((values) => renderer.render(example, values)),
      ];
      expect(validate(manifests)).toEqual([]);
      expect(typeCheck(manifests)).toEqual([]);
      const mutations = manifests.flatMap(withUnknownKeys);
      const findings = typeCheck(mutations.map(({ manifest }) => manifest));
      const found = new Set(findings.filter(({ message }) => message.includes(UNKNOWN)).map(({ index }) => index));
      expect(mutations.filter((_, index) => !found.has(index)).map(({ manifest }) => manifest.source)).toEqual([]);
    },
    SLOW,
  );

  it('gives a gateway, and no more than that, by default', () => {
    const manifests = renderer.render(CHART, least);
    expect(manifests.map(({ kind }) => kind)).toEqual(['ConfigMap', 'Deployment', 'Service']);
    expect(renderer.notes(CHART, least)).toContain('http://plant-d2-sidecar.plant:80 in place of');
  });

  it(
    'writes a configuration that the sidecar accepts',
    async () => {
      for (const values of [least, all]) {
        const text = String(at(find(renderer.render(CHART, values), 'ConfigMap'), 'data', 'sidecar.yaml'));
        expect(parse(text)).toMatchObject({ upstream: { url: URL }, jvm: { source: 'none' } });
        const file = path.join(example, 'sidecar.yaml');
        writeFileSync(file, text);
        expect(await run(process.execPath, ['dist/main.js', 'check', '--config', file])).toMatchObject({ code: 0 });
      }
      const config = find(renderer.render(CHART, all), 'ConfigMap');
      expect(parse(String(at(config, 'data', 'sidecar.yaml')))).toMatchObject({
        limits: { connections: 100 },
        stop: { delay: '5s', window: '3s' },
      });
    },
    SLOW,
  );

  it(
    'has the container of the kustomizations, as a native sidecar and as a gateway',
    () => {
      const container = (manifests: Parameters<typeof find>[0], list: string) =>
        (at(find(manifests, 'Deployment'), 'spec', 'template', 'spec', list) as Json[]).find(
          (one) => at(one, 'name') === 'd2-sidecar',
        );
      const same = { image: `${image.repository}:${VERSION}`, imagePullPolicy: 'IfNotPresent' };
      const kustomized = (name: string) => buildKustomization(path.join(FOLDER, name));
      expect(container(renderer.render(CHART, least), 'containers')).toEqual({
        ...Object(container(kustomized('gateway'), 'containers')),
        ...same,
      });
      expect(container(renderer.render(example, inside()), 'initContainers')).toEqual({
        ...Object(container(kustomized('examples/minimal'), 'initContainers')),
        ...same,
      });
      const native = Object(container(kustomized('examples/tomcat'), 'initContainers'));
      const open = renderer.render(example, inside({ monitoring: { enabled: true } }));
      expect(sorted(container(open, 'initContainers'))).toEqual(sorted({ ...native, ...same }));
    },
    SLOW,
  );

  it('renders no image without a name, and says how to get one', () => {
    const told = /image\.repository: missing, expected .* There is no public image.* docker build .* docker push /;
    expect(() => renderer.render(CHART, { upstream: { url: URL } })).toThrow(told);
    expect(() => renderer.render(example, {})).toThrow(told);
  });

  it('gives the container more volumes and variables, in the gateway as in the Pod of another chart', () => {
    for (const [chart, values, list] of [
      [CHART, { ...least, ...extras }, 'containers'],
      [example, inside(extras), 'initContainers'],
    ] as const) {
      const spec = at(find(renderer.render(chart, values), 'Deployment'), 'spec', 'template', 'spec');
      expect(at(spec, 'volumes')).toEqual(expect.arrayContaining(extras.extraVolumes));
      expect(at(spec, list, 0, 'volumeMounts')).toEqual(expect.arrayContaining(extras.extraVolumeMounts));
      expect(at(spec, list, 0, 'env')).toEqual(extras.extraEnv);
      expect(at(spec, list, 0, 'envFrom')).toEqual(extras.extraEnvFrom);
      // Its access to them is through this group, since it is not root.
      expect(at(spec, 'securityContext', 'fsGroup')).toBe(65532);
      expect(at(spec, list, 0, 'securityContext')).toMatchObject({ runAsNonRoot: true, readOnlyRootFilesystem: true });
    }
    const opened = find(renderer.render(CHART, all), 'Deployment');
    const names = (at(opened, 'spec', 'template', 'spec', 'containers', 0, 'env') as Json[]).map((one) =>
      at(one, 'name'),
    );
    expect(names).toEqual(['D2_SIDECAR_MONITOR_HOST', 'D2_SIDECAR_MONITOR_AUTH_TOKENS_FILE', 'JVM_PASSWORD']);
  });

  it('leaves the group of volumes to the cluster and replaces Pods as the values say', () => {
    const spec = at(find(renderer.render(CHART, { ...all, fsGroup: null }), 'Deployment'), 'spec');
    expect(Object(at(spec, 'template', 'spec'))).not.toHaveProperty('securityContext');
    expect(at(spec, 'strategy')).toEqual({ type: 'Recreate' });
  });

  it.each(['ServiceMonitor', 'PodMonitor', 'PrometheusRule'])('labels the %s so that Prometheus finds it', (kind) => {
    expect(at(find(renderer.render(CHART, all), kind), 'metadata', 'labels', 'release')).toBe('prometheus');
    const { labels: _, ...plain } = all.monitoring;
    const labels = at(find(renderer.render(CHART, { ...all, monitoring: plain }), kind), 'metadata', 'labels');
    expect(labels).not.toHaveProperty('release');
  });

  it('warns that monitors without a label may not be found', () => {
    const { labels: _, ...plain } = all.monitoring;
    expect(renderer.notes(CHART, { ...all, monitoring: plain })).toContain('No monitoring.labels are set');
    expect(renderer.notes(CHART, all)).not.toContain('monitoring.labels');
    expect(renderer.notes(CHART, least)).not.toContain('monitoring.labels');
  });

  it.each(['serviceMonitor', 'podMonitor', 'prometheusRule'])('refuses %s without an open port', (name) => {
    const values = { ...least, monitoring: { [name]: { enabled: true } } };
    expect(() => renderer.render(CHART, values)).toThrow(`monitoring.${name}.enabled: nothing can be scraped`);
  });

  it.each<[string, Json, string]>([
    ['no upstream', {}, '/upstream/url: must match pattern'],
    ['an upstream that is not an address', { upstream: { url: 'd2000:8080' } }, '/upstream/url: must match pattern'],
    [
      'the upstream in two places',
      { ...least, config: { upstream: { url: URL } } },
      '/config/upstream: must NOT be valid',
    ],
    [
      'an unknown key',
      { ...least, replicas: 2 },
      'must NOT have additional properties {"additionalProperty":"replicas"}',
    ],
    ['an unknown mode', { ...least, mode: 'proxy' }, '/mode: must be equal to one of the allowed values'],
    ['a port that is a string', { ...least, service: { port: '80' } }, '/service/port: must be integer'],
    [
      'a volume without a name',
      { ...least, extraVolumes: [{ secret: { secretName: 'x' } }] },
      '/extraVolumes/0: must have',
    ],
    ['a mount without a path', { ...least, extraVolumeMounts: [{ name: 'x' }] }, '/extraVolumeMounts/0: must have'],
    ['a variable without a name', { ...least, extraEnv: [{ value: 'x' }] }, '/extraEnv/0: must have'],
    [
      'an invalid address of runbooks',
      { ...least, monitoring: { prometheusRule: { runbookBaseUrl: 'docs' } } },
      '/monitoring/prometheusRule/runbookBaseUrl: must match pattern',
    ],
    ['the removed key plainContainer', { ...least, plainContainer: true }, '{"additionalProperty":"plainContainer"}'],
    ['an unknown key further in', { ...least, monitoring: { enable: true } }, '{"additionalProperty":"enable"}'],
  ])('refuses %s', (_, values, message) => {
    expect(() => renderer.render(CHART, values)).toThrow(message);
  });
});

it.runIf(reason !== undefined)('the charts are not rendered on this machine', ({ skip }) => skip(reason));

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
