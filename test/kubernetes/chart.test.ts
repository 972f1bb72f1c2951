import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { run } from '../install/run.ts';
import { Renderer, whyNot } from './helm/helm.ts';
import { at, buildKustomization, FOLDER, find, type Json } from './manifests.ts';
import { UNKNOWN, withUnknownKeys } from './mutations.ts';
import { typeCheck, validate } from './schemas.ts';

const CHART = path.join(FOLDER, 'chart');
const reason = process.env.D2S_REQUIRE_HELM === undefined ? whyNot() : undefined;

/** Programs of their own are run many times. */
const SLOW = 120_000;
const URL = 'http://d2000.plant.example:8080/smartWeb';
const least = { upstream: { url: URL } };
const all = {
  ...least,
  image: { repository: 'registry.example/d2-sidecar', tag: '1.2.3', pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  config: { limits: { connections: 100 }, stop: { window: '3s' }, jvm: { source: 'none' } },
  resources: { limits: { cpu: 2 } },
  service: { type: 'LoadBalancer', port: 8080, annotations: { 'example/kind': 'internal' } },
  podLabels: { plant: 'north' },
  podAnnotations: { 'example/scrape': 'no' },
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'plant', operator: 'Exists', effect: 'NoSchedule' }],
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone' }] } },
  monitoring: {
    enabled: true,
    fsGroup: 1000650000,
    serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
    podMonitor: { enabled: true, labels: { release: 'prometheus' } },
  },
  networkPolicy: { enabled: true, prometheusNamespace: 'prometheus' },
};

describe.skipIf(reason !== undefined)('the chart', () => {
  let renderer: Renderer;
  let example: string;
  beforeAll(() => {
    renderer = new Renderer();
    example = mkdtempSync(path.join(tmpdir(), 'd2s-chart-'));
    cpSync(path.join(FOLDER, 'examples/chart'), example, { recursive: true });
    // What `helm dependency update` does.
    cpSync(CHART, path.join(example, 'charts/d2-sidecar'), { recursive: true });
  }, 240_000);
  afterAll(() => {
    renderer?.close();
    rmSync(example, { recursive: true, force: true });
  });

  it(
    'gives manifests that hold to the published schemas, with all kinds of values',
    () => {
      const open = { 'd2-sidecar': { monitoring: all.monitoring, networkPolicy: { enabled: true } } };
      const manifests = [
        ...[least, all].flatMap((values) => renderer.render(CHART, values)),
        ...[{}, open].flatMap((values) => renderer.render(example, values)),
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
    'writes a configuration that the sidecar takes',
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
    'has the container of the kustomizations, as a native sidecar, a plain one and a gateway',
    () => {
      const container = (manifests: Parameters<typeof find>[0], list: string) =>
        (at(find(manifests, 'Deployment'), 'spec', 'template', 'spec', list) as Json[]).find(
          (one) => at(one, 'name') === 'd2-sidecar',
        );
      const same = { imagePullPolicy: 'IfNotPresent' };
      const kustomized = (name: string) => buildKustomization(path.join(FOLDER, name));
      expect(container(renderer.render(CHART, least), 'containers')).toEqual({
        ...Object(container(kustomized('gateway'), 'containers')),
        ...same,
      });
      expect(container(renderer.render(example, {}), 'initContainers')).toEqual({
        ...Object(container(kustomized('examples/minimal'), 'initContainers')),
        ...same,
      });
      const open = { 'd2-sidecar': { monitoring: { enabled: true } } };
      const native = Object(container(kustomized('examples/tomcat'), 'initContainers'));
      expect(sorted(container(renderer.render(example, open), 'initContainers'))).toEqual(
        sorted({ ...native, ...same }),
      );
      const older = { 'd2-sidecar': { monitoring: { enabled: true }, plainContainer: true } };
      const { restartPolicy: _, ...plain } = native;
      expect(sorted(container(renderer.render(example, older), 'initContainers'))).toEqual(
        sorted({ ...plain, ...same }),
      );
    },
    SLOW,
  );

  it.each<[string, Json, string]>([
    ['no upstream', {}, '/upstream/url: must match pattern'],
    ['an upstream that is no address', { upstream: { url: 'd2000:8080' } }, '/upstream/url: must match pattern'],
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
    ['a port that is a text', { ...least, service: { port: '80' } }, '/service/port: must be integer'],
    ['an unknown key further in', { ...least, monitoring: { enable: true } }, '{"additionalProperty":"enable"}'],
  ])('refuses %s', (_, values, message) => {
    expect(() => renderer.render(CHART, values)).toThrow(message);
  });
});

it.runIf(reason !== undefined)('charts are not rendered', ({ skip }) => skip(reason));

/** With lists of named things in the order of their names: kustomize puts what it adds in front. */
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
