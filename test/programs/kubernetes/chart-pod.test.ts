/**
 * The values of docs/kubernetes.md with Secrets, a claim and a variable, rendered by the chart, in a Pod: TLS for clients, users of the
 * monitoring port, the password of the JVM, and a state that survives the container.
 */

import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { readDocument } from '../../support/docs/documents.ts';
import { at, FOLDER, find, type Json, podOf } from '../../support/kubernetes/manifests.ts';
import { basic, tokenLine, userLine } from '../../support/monitor/access/access-files.ts';
import { CertificateFolder, textOf } from '../../support/tls/certificates.ts';
import { canRender, Renderer } from './helm/helm.ts';
import { canRunPods, Pod } from './pod/pod.ts';

const SLOW = 240_000;
const PASSWORD = 'correct horse battery staple';
/** The server of the example is on another machine. */
const ENV = {
  D2_SIDECAR_UPSTREAM_URL: 'http://127.0.0.1:8080/smartWeb',
  D2_SIDECAR_JVM_HTTP_URL: 'http://127.0.0.1:8080/jolokia',
};

type Values = Readonly<Record<string, Json>>;

describe.skipIf(!canRender || !canRunPods)('a Pod of the chart', { timeout: SLOW }, () => {
  const defer = deferTo(afterAll);
  const deferEach = deferTo(afterEach);
  const certificates = new CertificateFolder(temporaryFolder(defer));
  const scraper = tokenLine('prometheus', 'metrics');
  let renderer: Renderer;
  beforeAll(() => {
    renderer = new Renderer(defer);
  }, SLOW);

  async function open(change: (values: Values) => Json = (values) => values): Promise<Pod> {
    const manifests = renderer.render(path.join(FOLDER, 'chart'), change(readExample('extraVolumes')));
    const config = find(manifests, 'ConfigMap');
    const pair = certificates.signed(certificates.authority(), { name: 'localhost' });
    const pod = new Pod(podOf(find(manifests, 'Deployment')), {
      [String(at(config, 'metadata', 'name'))]: Object(at(config, 'data')),
      'd2-sidecar-access': { tokens: scraper.line, token: scraper.token },
      'd2-gateway-tls': { 'tls.crt': textOf(pair.certFile), 'tls.key': textOf(pair.keyFile) },
      'd2-gateway-users': { users: await userLine('ann', 'sessions', PASSWORD) },
      'd2-gateway-jvm': { 'jvm-password': 'of the JVM\n' },
    });
    deferEach(() => pod.close());
    return pod;
  }

  it('works with the values of docs/kubernetes.md', async () => {
    const pod = await open();
    await pod.ask('listen', { port: 8080 });
    const statusOf = async (url: string, headers = {}) => (await pod.get(url, headers)).status;
    const start = async () => {
      const sidecar = await pod.start('d2-sidecar', ENV);
      await vi.waitFor(async () => expect(await statusOf('http://127.0.0.1:9280/startupz')).toBe(200), 60_000);
      return sidecar;
    };
    const first = await start();
    expect(await statusOf('https://127.0.0.1:8081/smartWeb/api/rest/v0/d2/object/H.Level')).toBe(200);
    const sessions = 'http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/d2/sessions';
    expect(await statusOf(sessions)).toBe(401);
    expect(await statusOf(sessions, { authorization: basic('ann', PASSWORD) })).toBe(200);
    const asked = { url: expect.stringMatching(/^\/jolokia/), authorization: basic('monitor', 'of the JVM') };
    await vi.waitFor(async () => expect((await pod.ask('authorized')).authorized).toContainEqual(asked), 60_000);

    first.signal('SIGTERM');
    expect(await first.exited).toBe(0);
    expect(readdirSync(pod.volumes.get('state') as string)).toEqual(['state']);
    expect((await start()).logs).toContainEqual(expect.objectContaining({ msg: 'state restored' }));
    const metrics = await pod.get('http://127.0.0.1:9280/metrics', { authorization: `Bearer ${scraper.token}` });
    expect(metrics.body).toContain('d2_object_values_total{application="smartWeb",name="H.Level"} 1\n');
  });

  it('cannot read the key for TLS without an fsGroup', async () => {
    const pod = await open((values) => ({ ...values, fsGroup: null }));
    expect(await (await pod.start('d2-sidecar', ENV)).exited).toBe(1);
  });
});

/** The block of YAML in docs/kubernetes.md with this value of the chart. */
function readExample(name: string): Values {
  const [fence, ...others] = readDocument('docs/kubernetes.md').fences.filter(
    ({ language, text }) => language === 'yaml' && new RegExp(`^${name}:`, 'm').test(text),
  );
  if (fence === undefined || others.length > 0) throw new Error(`docs/kubernetes.md: expected one block with ${name}`);
  return parse(fence.text);
}
