/** A real nginx and HAProxy before the sidecar, a real Tomcat behind it: all three must agree on the address of the client. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { readDocument } from '../support/docs/documents.ts';
import { send } from '../support/net.ts';
import { startProxyProgram } from '../support/proxy-program.ts';
import { jsonOf, type SidecarProcess, startConfigured } from '../support/sidecar-process.ts';
import { hasHaproxy, hasNginx } from '../support/smuggling/servers.ts';
import { CertificateFolder, textOf } from '../support/tls/certificates.ts';
import { hasTomcat, startTomcat } from '../support/tomcat/tomcat.ts';

const OBJECTS = '/smartWeb/api/rest/v0/d2/object/';
const COMET = '/smartWeb/api/cometd';
const LOGOUT = '/smartWeb/api/rest/v0/d2/auth/logout';
const ANNA = `Basic ${Buffer.from('anna:word of anna').toString('base64')}`;
/** No proxy has this address, so it can only come from the client's connection to the first proxy. */
const CLIENT = '127.0.0.9';

type Kind = 'field' | 'header' | 'headerTls';
/** Each proxy, how it tells the sidecar the client's address, what it is, and whether it passes upgrades on. */
const FRONTS = {
  nginx: ['field', 'nginx as it is by default, HTTP/1.0', false],
  nginxDocs: ['field', 'nginx as in docs/front-proxies.md', true],
  haproxyHttp: ['field', 'HAProxy in mode http', true],
  haproxyV1: ['header', 'HAProxy in mode tcp with send-proxy', true],
  haproxyTls: ['headerTls', 'HAProxy in mode tcp with send-proxy-v2, TLS passed through', true],
} as const satisfies Readonly<Record<string, readonly [Kind, string, boolean]>>;
type Front = keyof typeof FRONTS;
const ALL = Object.entries(FRONTS).map(([front, about]) => [front as Front, ...about] as const);
/** Used by this process alone: no other program takes a port there. */
const HOST = `127.78.${(process.pid >> 8) & 0xff}.${process.pid & 0xff}`;
const portFor = (front: Front) => 18_001 + Object.keys(FRONTS).indexOf(front);

describe.runIf([hasTomcat(), hasNginx(), hasHaproxy()].every(Boolean))('behind a real proxy', () => {
  const defer = deferTo(afterAll);
  const folder = temporaryFolder(defer);
  const certificates = new CertificateFolder(folder);
  const authority = certificates.authority();
  const pair = certificates.signed(authority, { name: 'localhost' });
  const sidecars = {} as Record<Kind, SidecarProcess>;

  const log = (name: string) => path.join(folder, `${name}.log`);
  const linesOf = (name: string) => readFileSync(log(name), 'utf8').split('\n');
  const logged = (name: string, mark: string) => linesOf(name).filter((line) => line.includes(mark));

  beforeAll(async () => {
    // Tomcat's own way: it skips 127.0.0.1 (the proxies), and logs the address before them.
    const valves = `
      <Valve className="org.apache.catalina.valves.RemoteIpValve" internalProxies="127\\.0\\.0\\.1" />
      <Valve className="org.apache.catalina.valves.AccessLogValve" directory="${folder}" prefix="tomcat" suffix=".log"
        rotatable="false" buffered="false" requestAttributesEnabled="true" pattern="%a %s %U %{User-Agent}i" />`;
    const tomcat = await startTomcat(defer, undefined, valves);
    for (const kind of ['field', 'header', 'headerTls'] as const) {
      const clientAddress = kind === 'field' ? 'x-forwarded-for' : 'proxy-protocol';
      sidecars[kind] = await startConfigured(defer, `http://127.0.0.1:${tomcat.port}/smartWeb`, {
        listen: { trustedProxies: ['127.0.0.1'], clientAddress, ...(kind === 'headerTls' ? { tls: pair } : {}) },
        accessLog: { file: log(kind) },
        jvm: { source: 'none' },
      });
    }
    const nginx = `server {
      listen ${HOST}:${portFor('nginx')};
      location / {
        proxy_pass http://${sidecars.field.listen};
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      }
    }`;
    const documented = readDocument('docs/front-proxies.md').fences.find(({ language }) => language === 'nginx')?.text;
    const [address, listening] = ['server 127.0.0.1:8081;', 'listen 80;'];
    expect(documented).toContain(address);
    expect(documented).toContain(listening);
    const nginxDocs = documented
      ?.replace(address, `server ${sidecars.field.listen};`)
      .replace(listening, `listen ${HOST}:${portFor('nginxDocs')};`);
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
${tcp('haproxyV1', 'header', 'send-proxy')}${tcp('haproxyTls', 'headerTls', 'send-proxy-v2')}`;
    await startProxyProgram(defer, 'nginx', `${nginx}\n${nginxDocs}`, { host: HOST, port: portFor('nginx') });
    await startProxyProgram(defer, 'haproxy', haproxy, { host: HOST, port: portFor('haproxyHttp') });
  });

  /** With a forged address; `mark` finds the request in Tomcat's log. */
  const requestOf = (mark: string) => ({
    ...{ localAddress: CLIENT, ca: textOf(authority.certFile), servername: 'localhost' },
    headers: { authorization: ANNA, 'user-agent': mark, 'x-forwarded-for': '6.6.6.6' },
  });
  const call = (front: Front, target: string, mark = '') =>
    send(portFor(front), target, {
      ...{ host: HOST, protocol: front === 'haproxyTls' ? 'https:' : 'http:' },
      ...requestOf(mark),
    });

  /** Whether all three know the client of a call by a name of its own, and of the request to Tomcat. */
  async function expectClient(kind: Kind, name: string, connectionType: string, atTomcat: string): Promise<void> {
    const url = `http://${sidecars[kind].monitor}/smartWeb/api/rest/v0/admin/d2/sessions`;
    expect(await jsonOf(url)).toEqual([expect.objectContaining({ connectionType, remoteAddress: CLIENT })]);
    await vi.waitFor(() => expect(logged('tomcat', name)).toEqual([`${CLIENT} ${atTomcat} ${name}`]), 5_000);
    const remoteAddress = `"remoteAddress":"${CLIENT}"`;
    await vi.waitFor(() => expect(logged(kind, `"${name}"`)).toEqual([expect.stringContaining(remoteAddress)]), 5_000);
    expect(logged(kind, '6.6.6.6')).toEqual([]);
  }

  it.each(ALL)(
    '%s: session, access log and Tomcat have the client, over WebSocket too (%s, %s)',
    async (front, ...row) => {
      const [kind, , passesUpgrades] = row;
      const object = `H.${front}`;
      expect((await call(front, OBJECTS + object, object)).status).toBe(200);
      await expectClient(kind, object, 'REST', `200 ${OBJECTS}${object}`);
      // The next one begins a new session.
      await call(front, LOGOUT);
      if (!passesUpgrades) return;

      const rpc = `E.${front}.Echo`;
      const scheme = front === 'haproxyTls' ? 'wss' : 'ws';
      const socket = new WebSocket(`${scheme}://${HOST}:${portFor(front)}${COMET}`, requestOf(rpc));
      defer(() => socket.terminate());
      await once(socket, 'open');
      const ask = async (channel: string, message: object = {}) => {
        socket.send(JSON.stringify([{ channel, id: channel, ...message }]));
        const [text] = await once(socket, 'message');
        const [answer] = JSON.parse(String(text));
        expect(answer).toEqual({ channel, id: channel, ...message, successful: true, clientId: expect.any(String) });
        return answer;
      };
      const { clientId } = await ask('/meta/handshake', { version: '1.0', supportedConnectionTypes: ['websocket'] });
      await ask('/service/d2/rpc', { clientId, data: { eventName: `E.${front}`, rpcName: 'Echo' } });
      await expectClient(kind, rpc, 'COMET_WEBSOCKET', `101 ${COMET}`);
      await ask('/meta/disconnect', { clientId });
    },
  );

  it('nginx as in docs/front-proxies.md passes uploads of 5 MB, and keeps its connections', async () => {
    const accepted = async () => {
      const metrics = await (await fetch(`http://${sidecars.field.monitor}/metrics`)).text();
      return Number(/^d2_sidecar_connections_accepted_total (\d+)$/m.exec(metrics)?.[1]);
    };
    const body = 'x'.repeat(5_000_000);
    const upload = () =>
      send(portFor('nginxDocs'), '/smartWeb/api/rest/v0/d2/rpc/E.Demo/TestInOut', {
        ...{ host: HOST, method: 'POST', body, ...requestOf('upload') },
      });
    expect(await upload()).toMatchObject({ status: 200, body: `{"received":${body.length}}` });
    const before = await accepted();
    for (let i = 0; i < 10; i += 1) expect((await upload()).status).toBe(200);
    expect((await accepted()) - before).toBeLessThanOrEqual(1);
  });
});
