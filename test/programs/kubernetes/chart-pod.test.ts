/**
 * The values of docs/kubernetes.md with Secrets, a claim and a variable, rendered by the chart, in a Pod: TLS for clients, users of the
 * monitoring port, the password of the JVM, and a state that survives the container.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { readDocument } from '../../support/docs/documents.ts';
import { at, FOLDER, find, type Json } from '../../support/kubernetes/manifests.ts';
import { basic, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { isAvailable } from '../../support/programs.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import { Renderer, whyNot } from './helm/helm.ts';
import { canRunPods } from './pod/can-run.ts';
import { Pod } from './pod/pod.ts';

const reason = whyNot();
isAvailable('Helm’s engine in Go', reason === undefined);
const SLOW = 240_000;
const PASSWORD = 'correct horse battery staple';
/** The server of the example is on another machine. */
const ENV = {
  D2_SIDECAR_UPSTREAM_URL: 'http://127.0.0.1:8080/smartWeb',
  D2_SIDECAR_JVM_HTTP_URL: 'http://127.0.0.1:8080/jolokia',
};

type Values = Readonly<Record<string, Json>>;

describe.skipIf(reason !== undefined || !canRunPods)('a Pod of the chart', () => {
  const certificates = new CertificateFolder();
  const scraper = tokenLine('prometheus', 'metrics');
  let renderer: Renderer;
  let pod: Pod | undefined;
  beforeAll(() => {
    renderer = new Renderer();
  }, SLOW);
  afterEach(async () => {
    await pod?.close();
    pod = undefined;
  });
  afterAll(() => {
    renderer?.close();
    certificates.remove();
  });

  async function open(change: (values: Values) => Json = (values) => values, lineEnd = '\n'): Promise<Pod> {
    const manifests = renderer.render(path.join(FOLDER, 'chart'), change(readExample('extraVolumes')));
    const config = find(manifests, 'ConfigMap');
    const pair = certificates.signed(certificates.authority(), { name: 'localhost' });
    return new Pod(at(find(manifests, 'Deployment'), 'spec', 'template', 'spec'), {
      [String(at(config, 'metadata', 'name'))]: Object(at(config, 'data')),
      'd2-sidecar-access': { tokens: scraper.line, token: scraper.token },
      'd2-gateway-tls': {
        'tls.crt': readFileSync(pair.certFile, 'utf8'),
        'tls.key': readFileSync(pair.keyFile, 'utf8'),
      },
      'd2-gateway-users': { users: await userLine('ann', 'sessions', PASSWORD) },
      'd2-gateway-jvm': { 'jvm-password': `of the JVM${lineEnd}` },
    });
  }

  it(
    'works with the values of docs/kubernetes.md',
    async () => {
      pod = await open();
      await pod.ask('listen', { port: 8080 });
      let sidecar = await pod.start('d2-sidecar', ENV);
      const get = (url: string, headers = {}) => (pod as Pod).get(url, headers);
      const start = () =>
        vi.waitFor(async () => expect((await get('http://127.0.0.1:9280/startupz')).status).toBe(200), 60_000);
      await start();
      expect(await get('https://127.0.0.1:8081/smartWeb/api/rest/v0/d2/object/H.Level')).toMatchObject({ status: 200 });
      const sessions = 'http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/d2/sessions';
      expect(await get(sessions)).toMatchObject({ status: 401 });
      expect(await get(sessions, { authorization: basic('ann', PASSWORD) })).toMatchObject({ status: 200 });
      await jvmIsAsked(pod);

      sidecar.signal('SIGTERM');
      expect(await sidecar.exited).toBe(0);
      expect(readdirSync(pod.volumes.get('state') as string)).toEqual(['state']);
      sidecar = await pod.start('d2-sidecar', ENV);
      await start();
      expect(sidecar.logs).toContainEqual(expect.objectContaining({ msg: 'state restored' }));
      const metrics = await get('http://127.0.0.1:9280/metrics', { authorization: `Bearer ${scraper.token}` });
      expect(metrics.body).toContain('d2_object_values_total{application="smartWeb",name="H.Level"} 1\n');
    },
    SLOW,
  );

  it(
    'takes the password of the JVM from a variable',
    async () => {
      const jvm = {
        http: { kind: 'jolokia', url: ENV.D2_SIDECAR_JVM_HTTP_URL, username: 'monitor', passwordEnv: 'JVM_PASSWORD' },
      };
      const withVariable = (values: Values) => ({
        ...values,
        ...readExample('extraEnv'),
        config: { ...Object(values.config), jvm },
      });
      pod = await open(withVariable, '');
      await pod.ask('listen', { port: 8080 });
      await pod.start('d2-sidecar', ENV);
      await jvmIsAsked(pod);
    },
    SLOW,
  );

  it(
    'cannot read the key for TLS without an fsGroup',
    async () => {
      pod = await open((values) => ({ ...values, fsGroup: null }));
      const sidecar = await pod.start('d2-sidecar', ENV);
      expect(await sidecar.exited).toBe(1);
    },
    SLOW,
  );
});

it.runIf(reason !== undefined)('the charts are not rendered on this machine', ({ skip }) => skip(reason));

/** With its user and password, by the sidecar. */
async function jvmIsAsked(pod: Pod): Promise<void> {
  const asked = { url: expect.stringMatching(/^\/jolokia/), authorization: basic('monitor', 'of the JVM') };
  await vi.waitFor(async () => expect((await pod.ask('authorized')).authorized).toContainEqual(asked), 60_000);
}

/** The block of YAML in docs/kubernetes.md with this value of the chart. */
function readExample(name: string): Values {
  const [fence, ...others] = readDocument('docs/kubernetes.md').fences.filter(
    ({ language, text }) => language === 'yaml' && new RegExp(`^${name}:`, 'm').test(text),
  );
  if (fence === undefined || others.length > 0) throw new Error(`docs/kubernetes.md: expected one block with ${name}`);
  return parse(fence.text);
}
