/** Runs the commands, probes and hooks of the manifests, as the user and on the read-only tree that they specify. */
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { readDocument } from '../../support/docs/documents.ts';
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
import { basic, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { RUNTIME_WARNING } from '../../support/runtime-warning.ts';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';
import { hasTomcat } from '../../support/tomcat/tomcat.ts';
import { canRender, Renderer } from './helm/helm.ts';
import { type Container, canRunPods, POD_ADDRESS, Pod } from './pod/pod.ts';
import type { Contents } from './pod/volumes.ts';

const SERVICE = `http://${POD_ADDRESS}:8081/smartWeb`;
const MONITOR = `http://${POD_ADDRESS}:9280`;
const SLOW = 240_000;
const WAIT = { timeout: 100_000, interval: 100 };
const PASSWORD = 'correct horse battery staple';
/** Where the application server is on another machine. */
const UPSTREAM = { D2_SIDECAR_UPSTREAM_URL: 'http://127.0.0.1:8080/smartWeb' };

interface Setting {
  readonly name: string;
  readonly user: number;
  readonly isMonitoringOpen: boolean;
  /** Settings that the test has to change. */
  readonly env?: Readonly<Record<string, string>>;
  readonly warnings?: readonly unknown[];
}

const MINIMAL: Setting = { name: 'examples/minimal', user: 33, isMonitoringOpen: false };
const WITH_TOMCAT: Setting = { name: 'examples/tomcat', user: 33, isMonitoringOpen: true };
const GATEWAY: Setting = {
  ...{ name: 'gateway', user: 65532, isMonitoringOpen: false, env: UPSTREAM },
  warnings: [expect.stringMatching(/^the application server now sees every client as loopback/)],
};

const known = tokenLine('prometheus', 'metrics');
const bearer = { authorization: `Bearer ${known.token}` };
const defer = deferTo(afterEach);
let pod: Pod;

describe.skipIf(!canRunPods)('the sidecar in a Pod', { timeout: SLOW }, () => {
  it.each([MINIMAL, WITH_TOMCAT, GATEWAY])(
    '$name: runs without privileges, serves, drains and ends',
    async (setting) => {
      const { sidecar, spec } = await open(setting);
      const ids = Array(4).fill(setting.user).join('\t');
      expect([sidecar.status('Uid'), sidecar.status('Gid')]).toEqual([ids, ids]);
      expect(Number.parseInt(sidecar.status('CapEff') ?? '', 16)).toBe(0);
      expect(troubles(sidecar)).toEqual(setting.warnings ?? []);
      await expectOpenness(setting.isMonitoringOpen);
      expect(await passes(sidecar, at(spec, 'livenessProbe'))).toBe(true);
      expect(await passes(sidecar, at(spec, 'readinessProbe'))).toBe(true);
      const args = Object(spec).args as readonly string[];
      expect(await sidecar.exec(['d2-sidecar', 'check', ...args])).toMatchObject({ code: 0 });

      await pod.ask('listen', { port: 8080 });
      expect(await pod.get(`${SERVICE}/x`)).toMatchObject({ status: 200, body: 'answered GET /smartWeb/x' });

      const held = pod.get(`${SERVICE}/held`);
      await until(async () => (await pod.ask('held')).count === 1, 'a call that is held');
      const preStop = sidecar.exec(at(spec, 'lifecycle', 'preStop', 'exec', 'command') as readonly string[]);
      await until(async () => !(await passes(sidecar, at(spec, 'readinessProbe'))), 'readiness to go');
      expect(await passes(sidecar, at(spec, 'livenessProbe'))).toBe(true);
      const late = await pod.get(`${SERVICE}/late`);
      expect(late).toMatchObject({ status: 200, headers: { connection: expect.stringMatching(/\bclose$/) } });
      await pod.ask('release');
      expect(await held).toMatchObject({ status: 200, body: 'released' });
      expect(await preStop).toMatchObject({ code: 0, stdout: expect.stringContaining('\ndrained\n') });

      sidecar.signal('SIGTERM');
      expect(await sidecar.exited).toBe(0);
    },
  );

  it.runIf(hasTomcat())('reads the counters of the JVM in the other container from the shared /tmp', async () => {
    await open(MINIMAL);
    await pod.startTomcat();
    const url = 'http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/metrics/jvm';
    await until(async () => (await pod.get(url)).status === 200, 'the condition of the JVM');
    const { headers, body = '' } = await pod.get(url);
    expect(headers).toMatchObject({ 'metrics-source': expect.stringMatching(/^hsperfdata/) });
    expect(JSON.parse(body).gauges['jvm.memory.heap.used'].value).toBeGreaterThan(1_000_000);
  });
});

describe.skipIf(!canRender || !canRunPods)('a Pod of the chart', { timeout: SLOW }, () => {
  const deferToEnd = deferTo(afterAll);
  const certificates = new CertificateFolder(temporaryFolder(deferToEnd));
  const env = { ...UPSTREAM, D2_SIDECAR_JVM_HTTP_URL: 'http://127.0.0.1:8080/jolokia' };
  let renderer: Renderer;
  beforeAll(() => {
    renderer = new Renderer(deferToEnd);
  }, SLOW);

  /** Of the values in docs/kubernetes.md with Secrets, a claim and a variable. */
  async function openChart(): Promise<void> {
    const fences = readDocument('docs/kubernetes.md').fences.filter(({ text }) => /^extraVolumes:/m.test(text));
    expect(fences).toHaveLength(1);
    const manifests = renderer.render(path.join(FOLDER, 'chart'), parse(fences[0]?.text ?? ''));
    const pair = certificates.signed(certificates.authority(), { name: 'localhost' });
    openPod(manifests, {
      'd2-gateway-tls': { 'tls.crt': textOf(pair.certFile), 'tls.key': textOf(pair.keyFile) },
      'd2-gateway-users': { users: await userLine('ann', 'sessions', PASSWORD) },
      'd2-gateway-jvm': { 'jvm-password': 'of the JVM\n' },
    });
  }

  it('has TLS for clients, users of the monitoring port, the password of the JVM, and a state that survives it', async () => {
    await openChart();
    await pod.ask('listen', { port: 8080 });
    const statusOf = async (url: string, headers = {}) => (await pod.get(url, headers)).status;
    const start = async () => {
      const sidecar = await pod.start('d2-sidecar', env);
      await until(async () => (await statusOf('http://127.0.0.1:9280/startupz')) === 200, 'its start');
      return sidecar;
    };
    const first = await start();
    expect(await statusOf('https://127.0.0.1:8081/smartWeb/api/rest/v0/d2/object/H.Level')).toBe(200);
    const sessions = 'http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/d2/sessions';
    expect(await statusOf(sessions)).toBe(401);
    expect(await statusOf(sessions, { authorization: basic('ann', PASSWORD) })).toBe(200);
    const asked = { url: expect.stringMatching(/^\/jolokia/), authorization: basic('monitor', 'of the JVM') };
    await expect.poll(async () => (await pod.ask('authorized')).authorized, WAIT).toContainEqual(asked);

    first.signal('SIGTERM');
    expect(await first.exited).toBe(0);
    expect(readdirSync(pod.volumes.get('state') as string)).toEqual(['state']);
    expect((await start()).logs).toContainEqual(expect.objectContaining({ msg: 'state restored' }));
    const metrics = await pod.get('http://127.0.0.1:9280/metrics', bearer);
    expect(metrics.body).toContain('d2_object_values_total{application="smartWeb",name="H.Level"} 1\n');
  });
});

/** The monitoring port is open to the Pod alone, or to readers with a token, by its role. */
async function expectOpenness(isOpen: boolean): Promise<void> {
  const sessions = `${MONITOR}/smartWeb/api/rest/v0/admin/d2/sessions`;
  if (isOpen) {
    expect(await pod.get(`${MONITOR}/metrics`)).toMatchObject({ status: 401 });
    expect(await pod.get(`${MONITOR}/metrics`, bearer)).toMatchObject({ status: 200 });
    expect(await pod.get(sessions, bearer)).toMatchObject({ status: 403 });
  } else {
    expect(await pod.get(`${MONITOR}/metrics`)).toEqual({ error: 'ECONNREFUSED' });
    expect(await pod.get('http://127.0.0.1:9280/metrics')).toMatchObject({ status: 200 });
  }
}

/** A Pod of the build, with its sidecar started, and that container of the manifest. */
async function open({ name, env }: Setting): Promise<{ readonly sidecar: Container; readonly spec: Json }> {
  const spec = containerOf(openPod(buildKustomization(path.join(FOLDER, name))));
  const sidecar = await pod.start('d2-sidecar', env);
  await until(() => passes(sidecar, at(spec, 'startupProbe')), 'its startup probe');
  return { sidecar, spec };
}

/** With the manifests' ConfigMaps, and Secrets. Returns its specification. */
function openPod(manifests: readonly Manifest[], secrets: Contents = {}): Json {
  const template = podOf(find(manifests, 'Deployment'));
  const maps = manifests.filter(({ kind }) => kind === 'ConfigMap').map(({ content }) => content);
  pod = new Pod(template, {
    ...Object.fromEntries(maps.map((one) => [at(one, 'metadata', 'name'), at(one, 'data')])),
    'd2-sidecar-access': { tokens: `${known.line}\n`, token: known.token },
    ...secrets,
  });
  defer(() => pod.close());
  return template;
}

const troubles = ({ logs }: Container) =>
  logs.filter(({ level, msg }) => level !== 'info' && msg !== RUNTIME_WARNING).map(({ msg }) => msg);

/** Like kubelet. */
async function passes(container: Container, probe: Json): Promise<boolean> {
  const { exec, httpGet } = Object(probe);
  if (exec !== undefined) return (await container.exec(exec.command)).code === 0;
  const { status = 0 } = await pod.get(`http://${POD_ADDRESS}:${httpGet.port}${httpGet.path}`);
  return status >= 200 && status < 400;
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  await expect.poll(holds, { ...WAIT, message: `waited 100 s for ${what}` }).toBe(true);
}
