/**
 * A real nginx and HAProxy before the sidecar, a real Tomcat behind it: all three sides know the same address of the client. Needs
 * Debian's `nginx`, `haproxy` and `tomcat10`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { portOf } from '../support/net.ts';
import { isAvailable } from '../support/programs.ts';
import { type ProxyProgram, startProxyProgram } from '../support/proxy-program.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';
import { isInstalled } from '../support/smuggling/servers.ts';
import { CertificateFolder, textOf } from '../support/tls/certificates.ts';
import { isTomcatInstalled, startTomcat, type Tomcat } from '../support/tomcat/tomcat.ts';

const canRun = [
  isAvailable('Tomcat', isTomcatInstalled()),
  isAvailable('nginx', isInstalled('nginx')),
  isAvailable('haproxy', isInstalled('haproxy')),
].every(Boolean);

const OBJECT = '/smartWeb/api/rest/v0/d2/object/H.Temperature';
const LOGOUT = '/smartWeb/api/rest/v0/d2/auth/logout';
const ANNA = `Basic ${Buffer.from('anna:word of anna').toString('base64')}`;
/** No proxy has it, so it can only come from the client's connection to the first of them. */
const CLIENT = '127.0.0.9';
const UPGRADE = {
  ...{ connection: 'Upgrade', upgrade: 'websocket' },
  ...{ 'sec-websocket-version': '13', 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==' },
};

const FRONTS = ['nginx10', 'nginx11', 'nginxUpgrade', 'haproxyHttp', 'haproxyV1', 'haproxyV2', 'haproxyTls'] as const;
type Front = (typeof FRONTS)[number];
/** Of this process alone: no other program takes a port there. */
const HOST = `127.78.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`;
const portFor = (front: Front) => 18_001 + FRONTS.indexOf(front);
type Kind = 'field' | 'header' | 'headerTls';

describe.runIf(canRun)('behind a real proxy', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-fronts-'));
  const certificates = new CertificateFolder();
  const authority = certificates.authority();
  const pair = certificates.signed(authority, { name: 'localhost' });
  const sidecars = {} as Record<Kind, SidecarProcess>;
  const programs: ProxyProgram[] = [];
  let tomcat: Tomcat | undefined;
  let calls = 0;

  const log = (name: string) => path.join(folder, `${name}.log`);
  const logged = (name: string, mark: string) =>
    readFileSync(log(name), 'utf8')
      .split('\n')
      .filter((line) => line.includes(mark));

  async function startSidecar(kind: Kind, port: number): Promise<void> {
    const tls = { D2_SIDECAR_LISTEN_TLS_CERT_FILE: pair.certFile, D2_SIDECAR_LISTEN_TLS_KEY_FILE: pair.keyFile };
    sidecars[kind] = await startSidecarProcess(flagsFor(port), {
      D2_SIDECAR_LISTEN_TRUSTED_PROXIES: '127.0.0.1',
      D2_SIDECAR_LISTEN_CLIENT_ADDRESS: kind === 'field' ? 'x-forwarded-for' : 'proxy-protocol',
      D2_SIDECAR_ACCESS_LOG_FILE: log(kind),
      D2_SIDECAR_JVM_SOURCE: 'none',
      ...(kind === 'headerTls' ? tls : {}),
    });
  }

  beforeAll(async () => {
    // Tomcat's own way: it walks past 127.0.0.1, the proxies, and logs who stands before them.
    const valves = `
      <Valve className="org.apache.catalina.valves.RemoteIpValve" internalProxies="127\\.0\\.0\\.1" />
      <Valve className="org.apache.catalina.valves.AccessLogValve" directory="${folder}" prefix="tomcat" suffix=".log"
        rotatable="false" buffered="false" requestAttributesEnabled="true" pattern="%a %U %{User-Agent}i" />`;
    tomcat = await startTomcat(undefined, valves);
    for (const kind of ['field', 'header', 'headerTls'] as const) await startSidecar(kind, tomcat.port);
    const servers: readonly (readonly [Front, string])[] = [
      ['nginx10', ''],
      ['nginx11', 'proxy_http_version 1.1; proxy_set_header Connection "";'],
      [
        'nginxUpgrade',
        'proxy_http_version 1.1; proxy_set_header Connection "upgrade"; proxy_set_header Upgrade $http_upgrade;',
      ],
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
    const at = (front: Front) => () => ({ host: HOST, port: portFor(front) });
    programs.push(
      await startProxyProgram('nginx', { config: () => nginx.join('\n'), address: at('nginx10') }),
      await startProxyProgram('haproxy', { config: () => haproxy, address: at('haproxyHttp') }),
    );
  });

  afterAll(async () => {
    for (const program of programs) await program.stop();
    for (const sidecar of Object.values(sidecars)) await sidecar.stop();
    await tomcat?.stop();
    certificates.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** With a lie about its address; `mark` finds its lines. */
  async function call(front: Front, target: string): Promise<{ readonly status: number; readonly mark: string }> {
    calls += 1;
    const mark = `call-${calls}`;
    const isSecure = front === 'haproxyTls';
    const status = await new Promise<number>((resolve, reject) => {
      const options = {
        ...{ host: HOST, port: portFor(front), path: target, localAddress: CLIENT, agent: false as const },
        ...{ ca: textOf(authority.certFile), servername: 'localhost' },
        headers: {
          ...{ authorization: ANNA, 'user-agent': mark, 'x-forwarded-for': '6.6.6.6' },
          ...(front === 'nginxUpgrade' ? UPGRADE : {}),
        },
      };
      const asked = (isSecure ? https : http).request(options, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode ?? 0));
      });
      asked.on('error', reject).end();
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
    const answer = await fetch(`http://${sidecars[kind].monitor}/smartWeb/api/rest/v0/admin/d2/sessions`);
    const sessions = (await answer.json()) as { remoteAddress: string }[];
    expect(sessions.map(({ remoteAddress }) => remoteAddress)).toEqual([CLIENT]);
    await vi.waitFor(() => expect(logged('tomcat', mark)).toEqual([`${CLIENT} ${OBJECT} ${mark}`]), 5_000);
    await vi.waitFor(() => expect(logged(kind, `"remoteAddress":"${CLIENT}"`).length).toBeGreaterThan(0), 5_000);
    expect(logged(kind, '6.6.6.6')).toEqual([]);
    // The next one begins a session of its own.
    await call(front, LOGOUT);
  });

  it('has the client in each line of its access log', () => {
    const lines = ['field', 'header', 'headerTls'].flatMap((kind) => logged(kind, '{'));
    expect(lines.length).toBeGreaterThanOrEqual(7);
    expect(new Set(lines.map((line) => (JSON.parse(line) as { remoteAddress: string }).remoteAddress))).toEqual(
      new Set([CLIENT]),
    );
  });

  it('closes what comes to a port for PROXY headers without one', async () => {
    const port = portOf(sidecars.header.listen);
    await expect(fetch(`http://127.0.0.1:${port}${OBJECT}`)).rejects.toThrow();
  });
});
