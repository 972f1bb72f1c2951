/** The verdict where the network, TLS or a server that is no application is the trouble; like verdict.test.ts. */
import { spawnSync } from 'node:child_process';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { freePorts } from '../../bench/load/ports.ts';
import { type Defer, deferTo, temporaryFolder } from '../../support/deferred.ts';
import { listening } from '../../support/net.ts';
import { type Chromium, describeInChromium } from '../../support/page/browser.ts';
import { startProxyProgram } from '../../support/proxy-program.ts';
import { hasNginx } from '../../support/smuggling/servers.ts';
import { CertificateFolder, pemOf } from '../../support/tls/certificates.ts';
import { call, REST } from './clients.ts';
import { createNetwork, type Expected, INSIDE, situationsBy, type Trouble } from './site.ts';

const HOST = '127.0.0.1';
const TIMEOUT_MS = 60_000;
const canEnterNetworks =
  process.getuid?.() === 0 && spawnSync('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

const ALL_FAIL: Expected = ['calls-fail', 'server', /^The server: 100 % of the calls failed/];
const TLS_EXPECTED: Expected = [
  'upstream-tls',
  'sidecar',
  /TLS with the server fails: that port expects TLS, but upstream.url/,
];
const OWN_EXPIRED: Expected = ['own-certificate', 'sidecar', /clients cannot trust its certificate .*expired/];
const NO_NAME: Expected = ['upstream-unreachable', 'network', /no route to the server.*\((?:ENOTFOUND|EAI_AGAIN)\)/];
const NO_ROUTE: Expected = ['upstream-unreachable', 'network', /no route to the server.*\(ENETUNREACH\)/];

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

  if (canEnterNetworks)
    situation('says that there is no route to the server', NO_ROUTE, async (until) => ({
      url: 'http://192.0.2.1/smartWeb',
      config: { monitor: { host: INSIDE, auth: 'none' } },
      command: [...(await createNetwork(until)), process.execPath],
    }));

  const failing = async (until: Defer, server: net.Server): Promise<Trouble> => {
    until(() => server.close());
    const url = `http://${HOST}:${await listening(server)}/smartWeb`;
    return { url, provoke: ({ listen }) => call(listen, `${REST}rpc/E.Demo/TestInOut`, 5) };
  };

  situation('says that a server that closes each connection fails all calls', ALL_FAIL, (until) =>
    failing(
      until,
      net.createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.destroy())),
    ),
  );

  situation('says that a server that closes what is not TLS expects it', TLS_EXPECTED, (until) => {
    const own = new CertificateFolder(temporaryFolder(until)).selfSigned({ name: 'localhost' });
    return failing(until, tls.createServer(pemOf(own)));
  });
}
