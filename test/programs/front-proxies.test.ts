/**
 * A real nginx and HAProxy before the sidecar, a real Tomcat behind it: all three must agree on the address of the
 * client.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { jsonOf, startConfigured } from '../support/configured-sidecar.ts';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { send } from '../support/net.ts';
import { startProxyProgram } from '../support/proxy-program.ts';
import type { SidecarProcess } from '../support/sidecar-process.ts';
import { hasHaproxy, hasNginx } from '../support/smuggling/servers.ts';
import { CertificateFolder, textOf } from '../support/tls/certificates.ts';
import { hasTomcat, startTomcat } from '../support/tomcat/tomcat.ts';

const OBJECT = '/smartWeb/api/rest/v0/d2/object/H.Temperature';
const LOGOUT = '/smartWeb/api/rest/v0/d2/auth/logout';
const ANNA = `Basic ${Buffer.from('anna:word of anna').toString('base64')}`;
/** No proxy has this address, so it can only come from the client's connection to the first proxy. */
const CLIENT = '127.0.0.9';
const UPGRADE = {
  ...{ connection: 'Upgrade', upgrade: 'websocket' },
  ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' },
};

const FRONTS = ['nginx10', 'nginx11', 'nginxUpgrade', 'haproxyHttp', 'haproxyV1', 'haproxyV2', 'haproxyTls'] as const;
type Front = (typeof FRONTS)[number];
/** Used by this process alone: no other program takes a port there. */
const HOST = `127.78.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`;
const portFor = (front: Front) => 18_001 + FRONTS.indexOf(front);
type Kind = 'field' | 'header' | 'headerTls';

describe.runIf([hasTomcat(), hasNginx(), hasHaproxy()].every(Boolean))('behind a real proxy', () => {
  const defer = deferTo(afterAll);
  const folder = temporaryFolder(defer);
  const certificates = new CertificateFolder(folder);
  const authority = certificates.authority();
  const pair = certificates.signed(authority, { name: 'localhost' });
  const sidecars = {} as Record<Kind, SidecarProcess>;
  let calls = 0;

  const log = (name: string) => path.join(folder, `${name}.log`);
  const logged = (name: string, mark: string) =>
    readFileSync(log(name), 'utf8')
      .split('\n')
      .filter((line) => line.includes(mark));

  beforeAll(async () => {
    // Tomcat's own way: it skips 127.0.0.1 (the proxies), and logs the address before them.
    const valves = `
      <Valve className="org.apache.catalina.valves.RemoteIpValve" internalProxies="127\\.0\\.0\\.1" />
      <Valve className="org.apache.catalina.valves.AccessLogValve" directory="${folder}" prefix="tomcat" suffix=".log"
        rotatable="false" buffered="false" requestAttributesEnabled="true" pattern="%a %U %{User-Agent}i" />`;
    const tomcat = await startTomcat(defer, undefined, valves);
    for (const kind of ['field', 'header', 'headerTls'] as const) {
      const clientAddress = kind === 'field' ? 'x-forwarded-for' : 'proxy-protocol';
      sidecars[kind] = await startConfigured(defer, `http://127.0.0.1:${tomcat.port}/smartWeb`, {
        listen: { trustedProxies: ['127.0.0.1'], clientAddress, ...(kind === 'headerTls' ? { tls: pair } : {}) },
        accessLog: { file: log(kind) },
        jvm: { source: 'none' },
      });
    }
    const newer = 'proxy_http_version 1.1; proxy_set_header Connection';
    const servers: readonly (readonly [Front, string])[] = [
      ['nginx10', ''],
      ['nginx11', `${newer} "";`],
      ['nginxUpgrade', `${newer} "upgrade"; proxy_set_header Upgrade $http_upgrade;`],
    ];
    const nginx = servers.map(
      ([front, more]) => `server {
        listen ${HOST}:${portFor(front)};
        location / {
          proxy_pass http://${sidecars.field.listen};
          proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
          ${more}
        }
      }`,
    );
    const tcp = (front: Front, kind: Kind, send: string) => `listen ${front}
  mode tcp
  bind ${HOST}:${portFor(front)}
  server d2 ${sidecars[kind].listen} ${send}
`;
    const haproxy = `listen haproxyHttp
  mode http
  option forwardfor
  bind ${HOST}:${portFor('haproxyHttp')}
  server d2 ${sidecars.field.listen}
${tcp('haproxyV1', 'header', 'send-proxy')}${tcp('haproxyV2', 'header', 'send-proxy-v2')}${tcp('haproxyTls', 'headerTls', 'send-proxy-v2')}`;
    await startProxyProgram(defer, 'nginx', nginx.join('\n'), { host: HOST, port: portFor('nginx10') });
    await startProxyProgram(defer, 'haproxy', haproxy, { host: HOST, port: portFor('haproxyHttp') });
  });

  /** Sends a forged address; `mark` finds its lines. */
  async function call(front: Front, target: string): Promise<{ readonly status: number; readonly mark: string }> {
    calls += 1;
    const mark = `call-${calls}`;
    const { status } = await send(portFor(front), target, {
      ...{ host: HOST, localAddress: CLIENT, protocol: front === 'haproxyTls' ? 'https:' : 'http:' },
      ...{ ca: textOf(authority.certFile), servername: 'localhost' },
      headers: {
        ...{ authorization: ANNA, 'user-agent': mark, 'x-forwarded-for': '6.6.6.6' },
        ...(front === 'nginxUpgrade' ? UPGRADE : {}),
      },
    });
    return { status, mark };
  }

  it.each<[front: Front, kind: Kind, sentence: string]>([
    ['nginx10', 'field', 'nginx as it is by default, HTTP/1.0'],
    ['nginx11', 'field', 'nginx over HTTP/1.1'],
    ['nginxUpgrade', 'field', 'nginx with an upgrade to WebSocket'],
    ['haproxyHttp', 'field', 'HAProxy in mode http'],
    ['haproxyV1', 'header', 'HAProxy in mode tcp with send-proxy'],
    ['haproxyV2', 'header', 'HAProxy in mode tcp with send-proxy-v2'],
    ['haproxyTls', 'headerTls', 'HAProxy in mode tcp with send-proxy-v2, TLS passed through'],
  ])('%s: the session, the access log and Tomcat have the client (%s, %s)', async (front, kind) => {
    const { status, mark } = await call(front, OBJECT);
    expect(status).toBe(200);
    const url = `http://${sidecars[kind].monitor}/smartWeb/api/rest/v0/admin/d2/sessions`;
    const sessions = await jsonOf<{ remoteAddress: string }[]>(url);
    expect(sessions.map(({ remoteAddress }) => remoteAddress)).toEqual([CLIENT]);
    await vi.waitFor(() => expect(logged('tomcat', mark)).toEqual([`${CLIENT} ${OBJECT} ${mark}`]), 5_000);
    await vi.waitFor(() => expect(logged(kind, `"remoteAddress":"${CLIENT}"`).length).toBeGreaterThan(0), 5_000);
    expect(logged(kind, '6.6.6.6')).toEqual([]);
    // The next one begins a new session.
    await call(front, LOGOUT);
  });
});
