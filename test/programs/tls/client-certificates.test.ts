/** Client certificates before a real Tomcat 10 with SSLValve and CLIENT-CERT. Needs Debian's `tomcat10`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import { get, listenerTls } from '../../support/tls/ends.ts';
import { hasTomcat, startTomcat, type Tomcat } from '../../support/tomcat/tomcat.ts';
import { startStand } from '../../support/wire/stand.ts';

const WEB_XML = `<web-app xmlns="https://jakarta.ee/xml/ns/jakartaee" version="5.0">
  <security-constraint>
    <web-resource-collection><web-resource-name>all</web-resource-name><url-pattern>/*</url-pattern></web-resource-collection>
    <auth-constraint><role-name>operator</role-name></auth-constraint>
  </security-constraint>
  <login-config><auth-method>CLIENT-CERT</auth-method></login-config>
  <security-role><role-name>operator</role-name></security-role>
</web-app>`;
const PAGE = `<%@ page contentType="text/plain" %><%
java.security.cert.X509Certificate[] chain = (java.security.cert.X509Certificate[])
    request.getAttribute("jakarta.servlet.request.X509Certificate");
%>user <%= request.getUserPrincipal().getName() %>; by <%= chain[0].getIssuerX500Principal().getName() %>; <%=
request.getAttribute("jakarta.servlet.request.cipher_suite") %> <%=
request.getAttribute("jakarta.servlet.request.key_size") %>`;
/** As docs/tls.md has it. */
const VALVE = '<Valve className="org.apache.catalina.valves.SSLValve" />';

const deferToEnd = deferTo(afterAll);
const defer = deferTo(afterEach);
const folder = new CertificateFolder(temporaryFolder(deferToEnd));
const authority = folder.authority();
const own = folder.signed(authority, { name: 'plant' });
const ann = folder.signed(authority, { name: 'ann', usage: 'clientAuth' });
const bob = folder.signed(authority, { name: 'bob', usage: 'clientAuth' });

const ask = (port: number, own?: Pair, headers = {}) => get(port, '/smartWeb/who.jsp', { ca: authority, own, headers });
const REFUSED = { status: expect.toSatisfy((status: number) => status === 401 || status === 403) };

describe.runIf(hasTomcat())('a Tomcat with SSLValve and CLIENT-CERT', () => {
  let tomcat: Tomcat;

  beforeAll(async () => {
    const webapp = temporaryFolder(deferToEnd);
    const users = join(webapp, 'WEB-INF/users.xml');
    const realm = `<Realm className="org.apache.catalina.realm.MemoryRealm" pathname="${users}" />`;
    for (const [name, text] of [
      ['WEB-INF/web.xml', WEB_XML],
      ['WEB-INF/users.xml', '<tomcat-users><user username="CN=ann" password="" roles="operator"/></tomcat-users>'],
      ['META-INF/context.xml', `<Context>${realm}</Context>`],
      ['who.jsp', PAGE],
    ] as const) {
      mkdirSync(dirname(join(webapp, name)), { recursive: true });
      writeFileSync(join(webapp, name), text);
    }
    tomcat = await startTomcat(deferToEnd, { webapp, context: 'smartWeb' }, VALVE);
  });

  const startWith = async (clientCertificate: Config['clientCertificate']) => {
    const clients = { clientCaFile: authority.certFile, clientAuth: 'request' } as const;
    const stand = await startStand({
      upstreamPort: tomcat.port,
      config: ({ listen }) => ({ listen: { ...listen, tls: listenerTls(own, clients) }, clientCertificate }),
    });
    defer(() => stand.close());
    return stand.port;
  };
  const forged = { ssl_client_cert: textOf(ann.certFile).trim().replaceAll('\n', ' ') };

  it('logs a client in by its certificate alone', async () => {
    const port = await startWith('tomcat');
    expect((await ask(port, ann)).body).toContain('user CN=ann; by CN=plant authority; TLS_AES_256_GCM_SHA384 256');
    // Another client's certificate in the field that overrides ours.
    const both = { ssl_client_escaped_cert: encodeURIComponent(textOf(ann.certFile)), ...forged };
    for (const own of [bob, undefined]) expect(await ask(port, own, both)).toMatchObject(REFUSED);
  });

  it('without the feature believes a client that writes the field itself', async () => {
    expect((await ask(await startWith('off'), undefined, forged)).body).toContain('user CN=ann');
  });
});
