/** The verdict where the network, TLS or a server that is no application is the trouble; like verdict.test.ts. */
import tls from 'node:tls';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { freePorts } from '../../bench/load/ports.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { listening } from '../../support/net.ts';
import { type Chromium, describeInChromium } from '../../support/page/browser.ts';
import { startProxyProgram } from '../../support/proxy-program.ts';
import { hasNginx } from '../../support/smuggling/servers.ts';
import { CertificateFolder, pemOf } from '../../support/tls/certificates.ts';
import { call, REST } from './clients.ts';
import { type Expected, situationsBy } from './site.ts';

const HOST = '127.0.0.1';
const TIMEOUT_MS = 60_000;
const TLS_EXPECTED: Expected = [
  'upstream-tls',
  'sidecar',
  /TLS with the server fails: that port expects TLS, but upstream.url/,
];
const OWN_EXPIRED: Expected = ['own-certificate', 'sidecar', /clients cannot trust its certificate .*expired/];
const NO_NAME: Expected = ['upstream-unreachable', 'network', /no route to the server.*\((?:ENOTFOUND|EAI_AGAIN)\)/];
describeInChromium(
  'the verdict',
  (chromium) => {
    describe.runIf(hasNginx())('with TLS', () => withTls(chromium));
    describe('on the network', () => onTheNetwork(chromium));
  },
  TIMEOUT_MS,
);

function withTls(chromium: Chromium): void {
  const defer = deferTo(afterAll);
  const situation = situationsBy(chromium, it.concurrent);
  const certificates = new CertificateFolder(temporaryFolder(defer));
  const authority = certificates.authority();
  const names = ['expired', 'trusted', 'plain'] as const;
  const ports = new Map<string, number>();

  beforeAll(async () => {
    const pairs = {
      expired: certificates.signed(authority, { name: 'localhost', days: -1 }),
      trusted: certificates.signed(authority, { name: 'localhost' }),
    };
    const free = await freePorts(names.length);
    const servers = names.map((name, i) => {
      const port = free[i] ?? 0;
      ports.set(name, port);
      if (name === 'plain') return `server { listen ${HOST}:${port}; return 200; }`;
      const { certFile, keyFile } = pairs[name];
      return `server { listen ${HOST}:${port} ssl; ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; return 200; }`;
    });
    await startProxyProgram(defer, 'nginx', servers.join('\n'), { host: HOST, port: ports.get('plain') ?? 0 });
  }, TIMEOUT_MS);

  const upstream = { tls: { caFile: authority.certFile } };
  for (const [name, subject, text, config] of [
    ['expired', 'server', /^The server: TLS with it fails: .*expired/, { upstream }],
    ['plain', 'sidecar', /TLS with the server fails: .*(?:no TLS|not speak TLS)/, { upstream }],
    ['trusted', 'sidecar', /TLS with the server fails: .*(?:authority|trust)/, {}],
  ] as const)
    situation(`names what is wrong with the server's TLS: ${name}`, ['upstream-tls', subject, text], () => ({
      ...{ url: `https://${HOST}:${ports.get(name)}/smartWeb`, config },
    }));

  situation('says that a server that answers http:// with 400 expects TLS', TLS_EXPECTED, () => ({
    url: `http://${HOST}:${ports.get('trusted')}/smartWeb`,
    provoke: ({ listen }) => call(listen, `${REST}rpc/E.Demo/TestInOut`, 5),
  }));

  situation("names the sidecar's own certificate", OWN_EXPIRED, () => ({
    url: `http://${HOST}:${ports.get('plain')}/smartWeb`,
    config: { listen: { tls: certificates.signed(authority, { name: 'localhost', days: -1 }) } },
  }));
}

function onTheNetwork(chromium: Chromium): void {
  const situation = situationsBy(chromium, it.concurrent);
  situation('says that no address is known for the name of the server', NO_NAME, () => ({
    url: 'http://no-such-host.invalid/smartWeb',
  }));

  situation('says that a server that closes what is not TLS expects it', TLS_EXPECTED, async (until) => {
    const own = new CertificateFolder(temporaryFolder(until)).selfSigned({ name: 'localhost' });
    const server = tls.createServer(pemOf(own));
    until(() => server.close());
    const url = `http://${HOST}:${await listening(server)}/smartWeb`;
    return { url, provoke: ({ listen }) => call(listen, `${REST}rpc/E.Demo/TestInOut`, 5) };
  });
}
