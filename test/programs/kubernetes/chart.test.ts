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
import { typeCheck } from '../../support/kubernetes/schemas.ts';
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
  service: { type: 'LoadBalancer', port: 8080, sessionAffinity: 'ClientIP', annotations: { kind: 'internal' } },
  podLabels: { plant: 'north' },
  podAnnotations: { 'example/scrape': 'no' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'plant', operator: 'Exists', effect: 'NoSchedule' }],
  replicas: 2,
  topologySpreadConstraints: [{ maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }],
  podDisruptionBudget: { enabled: true, maxUnavailable: '50%' },
  ingress: {
    ...{ enabled: true, className: 'nginx', annotations: { 'example/timeout': '1h' }, host: 'smart-web.plant.example' },
    ...{ path: '/smartWeb', tls: [{ hosts: ['smart-web.plant.example'], secretName: 'smart-web-tls' }] },
  },
  httpRoute: {
    ...{ enabled: true, parentRefs: [{ name: 'plant' }], hostnames: ['smart-web.plant.example'], path: '/smartWeb' },
  },
  strategy: { type: 'Recreate' },
  fsGroup: 1000650000,
  extraVolumes: [{ name: 'tls', secret: { secretName: 'plant-tls', defaultMode: 0o440 } }],
  extraVolumeMounts: [{ name: 'tls', mountPath: '/etc/d2-sidecar-tls', readOnly: true }],
  extraEnv: [{ name: 'JVM_PASSWORD', valueFrom: { secretKeyRef: { name: 'plant-jvm', key: 'password' } } }],
  extraEnvFrom: [{ secretRef: { name: 'plant-keys' } }],
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } },
  monitoring: {
    ...{ enabled: true, serviceMonitor: { enabled: true }, podMonitor: { enabled: true } },
    ...{ prometheusRule: { enabled: true, runbookBaseUrl: BASE }, dashboard: { enabled: true } },
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
  const kindsOf = (values: Json) => render(values).map(({ kind }) => kind);

  it('gives manifests that match the published schemas, with all kinds of values', () => {
    const open = inside({ ...extras, monitoring: all.monitoring, networkPolicy: { enabled: true } });
    const inner = [inside(), open].flatMap((values) => renderer.render(example, values));
    expect(typeCheck([...[least, all].flatMap(render), ...inner])).toEqual([]);
  });

  it('gives a gateway, and no more than that, by default', () => {
    expect(kindsOf(least)).toEqual(['ConfigMap', 'Deployment', 'PodDisruptionBudget', 'Service']);
    // An open monitoring port brings no rules.
    expect(kindsOf({ ...least, monitoring: { enabled: true } })).not.toContain('PrometheusRule');
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
    const open = sidecarOf(renderer.render(example, inside({ monitoring: { enabled: true } })));
    // Kustomize puts its additions in front.
    const unordered = ({ env, ports, volumeMounts, ...others }: Record<string, Json[]>) => {
      return { ...others, env: new Set(env), ports: new Set(ports), volumeMounts: new Set(volumeMounts) };
    };
    expect(unordered(Object(open))).toEqual(unordered(kustomized('examples/tomcat')));
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
    }
    // The group may be left to the cluster.
    expect(Object(specOf(render({ ...all, fsGroup: null })))).not.toHaveProperty('securityContext');
    const names = (at(sidecarOf(render(all)), 'env') as Json[]).map((one) => at(one, 'name'));
    expect(names).toEqual(['D2_SIDECAR_MONITOR_HOST', 'D2_SIDECAR_MONITOR_AUTH_TOKENS_FILE', 'JVM_PASSWORD']);
  });

  it('spreads and protects its replicas as the kustomization of the gateway does, or as the values say', () => {
    const selectedBy = (manifests: readonly Manifest[]) => {
      const budget = at(find(manifests, 'PodDisruptionBudget'), 'spec');
      const spread = at(specOf(manifests), 'topologySpreadConstraints', 0);
      const pods = at(find(manifests, 'Deployment'), 'spec', 'selector');
      expect([at(budget, 'selector'), at(spread, 'labelSelector')]).toEqual([pods, pods]);
      return { ...Object(budget), spread: { ...Object(spread), labelSelector: null }, selector: null };
    };
    expect(selectedBy(render(least))).toEqual(selectedBy(buildKustomization(path.join(FOLDER, 'gateway'))));
    const many = render(all);
    expect(at(find(many, 'Deployment'), 'spec')).toMatchObject({ replicas: 2, strategy: { type: 'Recreate' } });
    expect(at(specOf(many), 'topologySpreadConstraints')).toMatchObject(all.topologySpreadConstraints);
    expect(at(find(many, 'PodDisruptionBudget'), 'spec', 'maxUnavailable')).toBe('50%');
    const without = { ...least, podDisruptionBudget: { enabled: false }, topologySpreadConstraints: [] };
    expect(kindsOf(without)).not.toContain('PodDisruptionBudget');
    expect(Object(specOf(render(without)))).not.toHaveProperty('topologySpreadConstraints');
  });

  it('has the dashboard of the kustomization, with the label that Grafana selects by', () => {
    const source = JSON.parse(readFileSync(path.join(ROOT, 'config/grafana/d2-sidecar.json'), 'utf8'));
    for (const manifests of [render(all), buildKustomization(path.join(FOLDER, 'examples/tomcat'))]) {
      const dashboard = Object(manifests.find(({ source: from }) => from.endsWith('-dashboard'))?.content);
      expect(at(dashboard, 'metadata', 'labels')).toMatchObject({ grafana_dashboard: '1' });
      expect(JSON.parse(String(at(dashboard, 'data', 'd2-sidecar.json')))).toEqual(source);
    }
  });

  it('routes clients from outside to its Service, without a limit on the time of a call', () => {
    const [manifests, name] = [render(all), 'plant-d2-sidecar'];
    expect(at(find(manifests, 'Service'), 'spec', 'ports', 0)).toMatchObject({ name: 'http', port: 8080 });
    const backend = { service: { name, port: { name: 'http' } } };
    expect(at(find(manifests, 'Ingress'), 'spec', 'rules', 0)).toEqual({
      host: 'smart-web.plant.example',
      http: { paths: [{ path: '/smartWeb', pathType: 'Prefix', backend }] },
    });
    expect(at(find(manifests, 'HTTPRoute'), 'spec', 'rules', 0)).toMatchObject({
      ...{ timeouts: { request: '0s' }, backendRefs: [{ name, port: 8080 }] },
    });
    expect(() => render({ ...least, ingress: { enabled: true } })).toThrow('ingress.host: expected the name');
    expect(() => render({ ...least, httpRoute: { enabled: true } })).toThrow('httpRoute.parentRefs: expected your');
  });

  it('labels the monitors and rules so that Prometheus finds them, and warns without a label', () => {
    const { labels: _, ...monitoring } = all.monitoring;
    const labelsOf = (values: Json) =>
      ['ServiceMonitor', 'PodMonitor', 'PrometheusRule'].map((kind) => {
        return Object(at(find(render(values), kind), 'metadata', 'labels')).release;
      });
    expect(labelsOf(all)).toEqual(['prometheus', 'prometheus', 'prometheus']);
    expect(labelsOf({ ...all, monitoring })).toEqual([undefined, undefined, undefined]);
    const isWarned = (values: Json) => renderer.notes(CHART, values).includes('No monitoring.labels are set');
    expect([{ ...all, monitoring }, all, least].map(isWarned)).toEqual([true, false, false]);
  });

  it.each<[string, string, string, string?]>([
    ['runbooks beside the rules', 'chart/rules.yml', 'docs/'],
    ['runbooks elsewhere', 'chart/rules.yml', `${BASE}/docs/`, `${BASE}/`],
    ['native histograms', '../prometheus/rules-native.yml', 'docs/'],
  ])('has the rules of the file, with %s', (what, file, runbooks, runbookBaseUrl) => {
    const more = what === 'native histograms' ? { histograms: 'native' } : runbookBaseUrl && { runbookBaseUrl };
    const monitoring = { enabled: true, prometheusRule: { enabled: true, ...Object(more) } };
    const groups = at(find(render({ ...least, monitoring }), 'PrometheusRule'), 'spec', 'groups');
    const text = readFileSync(path.join(FOLDER, file), 'utf8');
    expect(groups).toEqual(parse(text.replaceAll('runbook_url: docs/', `runbook_url: ${runbooks}`)).groups);
    // The braces of Prometheus' templates are not the chart's.
    expect(JSON.stringify(groups)).toContain('{{ $labels.instance }}');
  });

  it('refuses monitors, rules and dashboard without an open port', () => {
    for (const name of ['serviceMonitor', 'podMonitor', 'prometheusRule', 'dashboard'])
      expect(() => render({ ...least, monitoring: { [name]: { enabled: true } } })).toThrow(
        `monitoring.${name}.enabled: nothing can be scraped`,
      );
  });

  const badRunbook = { monitoring: { prometheusRule: { runbookBaseUrl: 'docs' } } };
  it.each<[string, Json, string]>([
    ['an upstream that is not an address', { upstream: { url: 'd2000:8080' } }, '/upstream/url: must match pattern'],
    ['the upstream in two places', { config: { upstream: { url: URL } } }, '/config/upstream: must NOT be valid'],
    ['the removed key plainContainer', { plainContainer: true }, '{"additionalProperty":"plainContainer"}'],
    ['a port that is a string', { service: { port: '80' } }, '/service/port: must be integer'],
    ['an invalid address of runbooks', badRunbook, '/monitoring/prometheusRule/runbookBaseUrl: must match pattern'],
  ])('refuses %s', (_name, values, message) => {
    expect(() => render({ ...least, ...Object(values) })).toThrow(message);
  });
});
