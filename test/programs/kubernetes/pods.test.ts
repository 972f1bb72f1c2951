/** Runs the commands, probes and hooks of the manifests, as the user and on the read-only tree that they specify. */

import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { run } from '../../support/install/run.ts';
import { at, buildKustomization, FOLDER, find, type Json, type Manifest } from '../../support/kubernetes/manifests.ts';
import { isAvailable } from '../../support/programs.ts';
import { isTomcatInstalled } from '../../support/tomcat/tomcat.ts';
import { canRunPods } from './pod/can-run.ts';
import { type Container, POD_ADDRESS, Pod } from './pod/pod.ts';
import { project } from './pod/volumes.ts';

const SERVICE = `http://${POD_ADDRESS}:8081/smartWeb`;
const MONITOR = `http://${POD_ADDRESS}:9280`;
const SLOW = 240_000;

interface Setting {
  readonly name: string;
  readonly user: number;
  readonly isMonitoringOpen: boolean;
  /** Settings that the test has to change. */
  readonly env?: Readonly<Record<string, string>>;
  /** The log's warnings because of `env`. */
  readonly warnings?: readonly unknown[];
}

const settings: readonly Setting[] = [
  { name: 'examples/minimal', user: 33, isMonitoringOpen: false },
  { name: 'examples/tomcat', user: 33, isMonitoringOpen: true },
  { name: 'examples/tomcat-pod-monitor', user: 33, isMonitoringOpen: true },
  // Its application server is on another machine.
  {
    name: 'gateway',
    user: 65532,
    isMonitoringOpen: false,
    env: { D2_SIDECAR_UPSTREAM_URL: 'http://127.0.0.1:8080/smartWeb' },
    warnings: [expect.stringMatching(/^the application server sees all clients come from loopback now/)],
  },
];

let known: Token;
beforeAll(async () => {
  known = await makeToken();
});

let pod: Pod | undefined;
afterEach(async () => {
  await pod?.close();
  pod = undefined;
});

describe.skipIf(!canRunPods)('the sidecar in a Pod', () => {
  it.each(settings)(
    '$name: starts before the application, serves, drains and ends',
    async (setting) => {
      const { sidecar, spec } = await open(setting);
      await until(() => passes(sidecar, at(spec, 'startupProbe')), 'its startup probe');
      expect(await passes(sidecar, at(spec, 'livenessProbe'))).toBe(true);
      expect(await passes(sidecar, at(spec, 'readinessProbe'))).toBe(true);
      const args = Object(spec).args as readonly string[];
      expect(await sidecar.exec(['d2-sidecar', 'check', ...args])).toMatchObject({ code: 0 });

      await pod?.ask('listen', { port: 8080 });
      expect(await pod?.get(`${SERVICE}/x`)).toMatchObject({ status: 200, body: 'answered GET /smartWeb/x' });

      const held = pod?.get(`${SERVICE}/held`);
      await until(async () => (await pod?.ask('held'))?.count === 1, 'a call that is held');
      const preStop = sidecar.exec(at(spec, 'lifecycle', 'preStop', 'exec', 'command') as readonly string[]);
      await until(async () => !(await passes(sidecar, at(spec, 'readinessProbe'))), 'readiness to go');
      expect(await passes(sidecar, at(spec, 'livenessProbe'))).toBe(true);
      const late = await pod?.get(`${SERVICE}/late`);
      expect(late).toMatchObject({ status: 200, headers: { connection: expect.stringMatching(/\bclose$/) } });
      await pod?.ask('release');
      expect(await held).toMatchObject({ status: 200, body: 'released' });
      expect(await preStop).toMatchObject({ code: 0, stdout: expect.stringContaining('\ndrained\n') });

      sidecar.signal('SIGTERM');
      expect(await sidecar.exited).toBe(0);
    },
    SLOW,
  );

  it.each(settings)(
    '$name: runs as its user, without privileges, with its monitoring port as open as documented',
    async (setting) => {
      const { sidecar, spec } = await open(setting);
      await until(() => passes(sidecar, at(spec, 'startupProbe')), 'its startup probe');
      expect(sidecar.status('Uid')).toBe(Array(4).fill(setting.user).join('\t'));
      expect(sidecar.status('Gid')).toBe(Array(4).fill(setting.user).join('\t'));
      expect(Number.parseInt(sidecar.status('CapEff') ?? '', 16)).toBe(0);
      expect(sidecar.logs.filter(({ level }) => level !== 'info').map(({ msg }) => msg)).toEqual(
        setting.warnings ?? [],
      );
      const bearer = { authorization: `Bearer ${known.token}` };
      if (!setting.isMonitoringOpen) {
        expect(await pod?.get(`${MONITOR}/metrics`)).toEqual({ error: 'ECONNREFUSED' });
        expect(await pod?.get('http://127.0.0.1:9280/metrics')).toMatchObject({ status: 200 });
        return;
      }
      expect(await pod?.get(`${MONITOR}/metrics`)).toMatchObject({ status: 401 });
      expect(await pod?.get(`${MONITOR}/metrics`, bearer)).toMatchObject({ status: 200 });
      expect(await pod?.get(`${MONITOR}/smartWeb/api/rest/v0/admin/d2/sessions`, bearer)).toMatchObject({
        status: 403,
      });
    },
    SLOW,
  );

  it(
    'restarts after a crash despite its leftovers in /tmp',
    async () => {
      const { sidecar, spec } = await open(settings[0] as Setting);
      await until(() => passes(sidecar, at(spec, 'startupProbe')), 'its startup probe');
      await sidecar.kill();
      const again = await (pod as Pod).start('d2-sidecar');
      await until(() => passes(again, at(spec, 'startupProbe')), 'its startup probe once more');
      expect(await passes(again, at(spec, 'readinessProbe'))).toBe(true);
      expect(again.logs.filter(({ level }) => level !== 'info')).toEqual([]);
    },
    SLOW,
  );

  it(
    'applies a changed ConfigMap on request, and refuses an invalid one',
    async () => {
      const { sidecar, spec } = await open(settings[0] as Setting);
      await until(() => passes(sidecar, at(spec, 'startupProbe')), 'its startup probe');
      const place = pod?.volumes.get('d2-sidecar-config') as string;
      const text = 'upstream: { url: "http://127.0.0.1:8080/smartWeb" }\n';

      project(place, { 'sidecar.yaml': `${text}limits: { connections: 7 }\n` }, 0o644);
      expect(await sidecar.exec(['d2-sidecar', 'reload'])).toMatchObject({ code: 0 });
      expect((await pod?.get('http://127.0.0.1:9280/metrics'))?.body).toContain(
        'd2_sidecar_config_reloads_total{result="applied"} 1',
      );

      project(place, { 'sidecar.yaml': `${text}limits: { connection: 7 }\n` }, 0o644);
      const refused = await sidecar.exec(['d2-sidecar', 'reload']);
      expect(refused).toMatchObject({ code: 64, stderr: expect.stringContaining('limits.connection') });
      expect(await passes(sidecar, at(spec, 'readinessProbe'))).toBe(true);
    },
    SLOW,
  );

  it.skipIf(!isAvailable('Tomcat', isTomcatInstalled()))(
    'reads the counters of the JVM in the other container from the shared /tmp',
    async () => {
      await open(settings[0] as Setting);
      await pod?.startTomcat();
      const url = 'http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/metrics/jvm';
      await until(async () => (await pod?.get(url))?.status === 200, 'the condition of the JVM');
      const answer = await pod?.get(url);
      expect(answer?.headers).toMatchObject({ 'metrics-source': expect.stringMatching(/^hsperfdata/) });
      expect(JSON.parse(answer?.body ?? '').gauges['jvm.memory.heap.used'].value).toBeGreaterThan(1_000_000);
    },
    SLOW,
  );

  it(
    'applies a changed Secret without a request',
    async () => {
      const { sidecar, spec } = await open(settings[1] as Setting);
      await until(() => passes(sidecar, at(spec, 'startupProbe')), 'its startup probe');
      const other = await makeToken();
      project(pod?.volumes.get('d2-sidecar-access') as string, { tokens: other.line }, 0o440, 65532);
      const status = async (token: string) =>
        (await pod?.get(`${MONITOR}/metrics`, { authorization: `Bearer ${token}` }))?.status;
      // With the old one, which is valid until then: attempts with a token that is not valid yet are limited.
      await until(async () => (await status(known.token)) === 401, 'the old token to be refused');
      expect(await status(other.token)).toBe(200);
    },
    SLOW,
  );
});

/** A Pod of the build, with its sidecar started, and that container of the manifest. */
async function open({ name, env }: Setting): Promise<{ readonly sidecar: Container; readonly spec: Json }> {
  const manifests = buildKustomization(path.join(FOLDER, name));
  const template = at(find(manifests, 'Deployment'), 'spec', 'template', 'spec');
  const { initContainers = [], containers } = Object(template);
  const spec = [...initContainers, ...containers].find((one) => at(one, 'name') === 'd2-sidecar');
  pod = new Pod(template, {
    ...configMaps(manifests),
    'd2-sidecar-access': { tokens: known.line, token: known.token },
  });
  return { sidecar: await pod.start('d2-sidecar', env), spec };
}

function configMaps(manifests: readonly Manifest[]): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const all = manifests.filter(({ kind }) => kind === 'ConfigMap').map(({ content }) => content);
  return Object.fromEntries(all.map((one) => [at(one, 'metadata', 'name'), at(one, 'data')]));
}

/** Like kubelet. */
async function passes(container: Container, probe: Json): Promise<boolean> {
  const { exec, httpGet } = Object(probe);
  if (exec !== undefined) return (await container.exec(exec.command)).code === 0;
  const { status = 0 } = (await pod?.get(`http://${POD_ADDRESS}:${httpGet.port}${httpGet.path}`)) ?? {};
  return status >= 200 && status < 400;
}

async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 100_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited 100 s for ${what}`);
    await delay(100);
  }
}

interface Token {
  readonly token: string;
  /** The sidecar's knowledge of it. */
  readonly line: string;
}

async function makeToken(): Promise<Token> {
  const { stdout, stderr } = await run(process.execPath, ['dist/main.js', 'passwd', '--token', 'prometheus']);
  return { token: stderr.trim().split(' ').at(-1) ?? '', line: stdout };
}
