/**
 * The situations that operators meet, each by real processes: within 12 s the verdict names the culprit, and the page shows the same
 * sentence. No trouble ends as `fine`.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { freePorts, untilListening } from '../../bench/load/ports.ts';
import { hasEnded } from '../../bench/load/processes.ts';
import { deferTo, temporaryFolder, untilTestEnds } from '../../support/deferred.ts';
import { Folder } from '../../support/monitor/access/access-files.ts';
import { listening } from '../../support/net.ts';
import { type Chromium, describeInChromium } from '../../support/page/browser.ts';
import { startProxyProgram } from '../../support/proxy-program.ts';
import { exitOf, runSidecar, type SidecarProcess, stopProcess } from '../../support/sidecar-process.ts';
import { hasNginx } from '../../support/smuggling/servers.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import { hasTomcat, startTomcat, type Tomcat } from '../../support/tomcat/tomcat.ts';
import {
  hasManager,
  type ManagerTomcat,
  managerKeys,
  pinToOneProcessor,
  startManagerTomcat,
} from '../jvm/http/manager-tomcat/manager-tomcat.ts';
import {
  call,
  createJavaClient,
  giveUpByCurl,
  giveUpInPage,
  IN_PAGE,
  REST,
  readSlowly,
  sendSlowly,
} from './clients.ts';
import { createNetwork, type Expected, expectVerdict, INSIDE, startBefore } from './site.ts';

const RPC = `${REST}rpc/E.Demo`;
const HOST = '127.0.0.1';
const TIMEOUT_MS = 60_000;
const canEnterNetworks =
  process.getuid?.() === 0 && spawnSync('unshare', ['--net', 'ip', 'link', 'set', 'lo', 'up']).status === 0;

const LEFT: Expected = {
  code: 'clients-leave',
  subject: 'client',
  text: /^Clients, .*: \d+ calls of the last minute were aborted/,
};
const SLOW: Expected = { code: 'clients-slow', subject: 'client', text: /^Clients, .* waited .* for their clients/ };

function unreachable(subject: Expected['subject'], text: RegExp): Expected {
  return { code: 'upstream-unreachable', subject, text };
}

describeInChromium(
  'the verdict',
  (chromium) => {
    describe.runIf(hasTomcat())('before a Tomcat', () => beforeTomcat(chromium));
    describe.runIf(hasNginx)('with TLS', () => withTls(chromium));
    describe('on the network', () => onTheNetwork(chromium));
    describe.runIf(hasManager)('with the JVM of a Tomcat of ten threads', () => withJvm(chromium));
  },
  TIMEOUT_MS,
);

function beforeTomcat(chromium: Chromium): void {
  const defer = deferTo(afterAll);
  let tomcat: Tomcat;
  let url: string;

  beforeAll(async () => {
    tomcat = await startTomcat(defer);
    url = `http://${HOST}:${tomcat.port}/smartWeb`;
    // Compiles the JSP.
    await call(`${HOST}:${tomcat.port}`, `${RPC}/TestInOut`, 1);
  }, TIMEOUT_MS);

  const start = (config = {}) => startBefore(untilTestEnds, url, config);

  it('is fine while calls are answered, and quiet before', async () => {
    const sidecar = await start();
    await expectVerdict(chromium, sidecar, { code: 'quiet', subject: 'unknown', text: /^Nothing to judge by/ });
    await expectVerdict(chromium, sidecar, { code: 'fine', subject: 'nobody', text: /^No sign of trouble/ }, () =>
      call(sidecar.listen, `${RPC}/TestInOut`, 10),
    );
  });

  it('names the call that fails', async () => {
    const sidecar = await start();
    const text = /^The server: 50 % of the calls failed .*most often E\.Demo\.Fail \(4 of its 4\)/;
    await expectVerdict(chromium, sidecar, { code: 'calls-fail', subject: 'server', text }, async () => {
      await call(sidecar.listen, `${RPC}/TestInOut`, 4);
      await call(sidecar.listen, `${RPC}/Fail`, 4);
    });
  });

  it('names the call that takes longer than clients wait', async () => {
    const sidecar = await start({ calls: { clientTimeout: '1s' } });
    const text = /^The server: 100 % of the calls .* took longer than 1\.0+ s.*slowest was E\.Demo\.Sleep1500/;
    await expectVerdict(chromium, sidecar, { code: 'calls-late', subject: 'server', text }, () =>
      call(sidecar.listen, `${RPC}/Sleep1500`, 4),
    );
  });

  it('blames clients that read slowly', async () => {
    const sidecar = await start();
    await expectVerdict(chromium, sidecar, SLOW, () => readSlowly(sidecar.listen));
  });

  it('blames clients that send slowly', async () => {
    const sidecar = await start();
    await expectVerdict(chromium, sidecar, SLOW, () => sendSlowly(sidecar.listen));
  });

  it('blames clients that give up: curl', async () => {
    const sidecar = await start();
    await expectVerdict(chromium, sidecar, LEFT, () => giveUpByCurl(`http://${sidecar.listen}`));
  });

  it('blames clients that give up: curl with TLS', async () => {
    const certificates = new CertificateFolder();
    untilTestEnds(() => certificates.remove());
    const sidecar = await start({ listen: { tls: certificates.selfSigned({ name: 'localhost' }) } });
    await expectVerdict(chromium, sidecar, LEFT, () => giveUpByCurl(`https://${sidecar.listen}`));
  });

  it.runIf(hasNginx)('blames clients that give up: behind nginx', async () => {
    const sidecar = await start();
    const [port = 0] = await freePorts(1);
    const server = `server { listen ${HOST}:${port}; location / { proxy_pass http://${sidecar.listen}; } }`;
    await startProxyProgram(untilTestEnds, 'nginx', server, { host: HOST, port });
    await expectVerdict(chromium, sidecar, LEFT, () => giveUpByCurl(`http://${HOST}:${port}`));
  });

  it('blames clients that give up: Java', async () => {
    const sidecar = await start();
    const giveUp = await createJavaClient(untilTestEnds);
    await expectVerdict(chromium, sidecar, LEFT, () => giveUp(`http://${sidecar.listen}`));
  });

  it('blames clients that give up: fetch of Chromium', async () => {
    const sidecar = await start();
    const { page } = await chromium.open(`http://${sidecar.listen}/none`);
    await expectVerdict(chromium, sidecar, LEFT, () => page.evaluate(giveUpInPage, IN_PAGE));
  });

  it('names the application that is called and the one that is configured', async () => {
    const sidecar = await startBefore(untilTestEnds, url.replace('smartWeb', 'smartweb'));
    const text = /configuration: \d+ requests .* for \/smartWeb\/\.\.\. would be calls, .* is \/smartweb\./;
    const expected: Expected = { code: 'not-classified', subject: 'sidecar', text };
    await expectVerdict(chromium, sidecar, expected, () => call(sidecar.listen, `${RPC}/TestInOut`, 25), 'smartweb');
  });

  it('names the path of requests that are no calls', async () => {
    const sidecar = await start();
    const text = /configuration: \d+ requests .* such as \/smartWeb\/odata.* are no calls/;
    await expectVerdict(chromium, sidecar, { code: 'not-classified', subject: 'sidecar', text }, () =>
      call(sidecar.listen, '/smartWeb/odata/plant', 25, 'GET'),
    );
  });

  it('says that the sidecar drains', async () => {
    const sidecar = await start();
    await call(sidecar.listen, `${RPC}/Fail`, 4);
    const text = /^The sidecar is draining on request/;
    await expectVerdict(chromium, sidecar, { code: 'draining', subject: 'sidecar', text }, () =>
      runSidecar(['drain', '--pid', String(sidecar.pid)]),
    );
  });

  it('names the call that hangs while the JVM stands still', async () => {
    const sidecar = await start();
    for (let i = 0; i < 5; i += 1) await call(sidecar.listen, `${RPC}/TestInOut`, 4);
    untilTestEnds(() => process.kill(tomcat.pid, 'SIGCONT'));
    process.kill(tomcat.pid, 'SIGSTOP');
    const text = /^The server: rpc E\.Demo\.TestInOut hangs: 4 calls/;
    await expectVerdict(chromium, sidecar, { code: 'hung-calls', subject: 'server', text }, async () => {
      void call(sidecar.listen, `${RPC}/TestInOut`, 4);
    });
  });

  it('knows that the queue of a JVM that stands still is full', async () => {
    const sidecar = await start({ upstream: { connectTimeout: '2s' } });
    untilTestEnds(() => process.kill(tomcat.pid, 'SIGCONT'));
    process.kill(tomcat.pid, 'SIGSTOP');
    const clients = Array.from({ length: 300 }, () => net.connect(tomcat.port, HOST).on('error', () => undefined));
    untilTestEnds(() => {
      for (const client of clients) client.destroy();
    });
    await expectVerdict(chromium, sidecar, unreachable('network', /does not answer \(.*TIMEOUT\)/));
  });

  it('knows that a server that was killed while it was called is gone', async () => {
    const { port, pid } = await startTomcat(untilTestEnds);
    const sidecar = await startBefore(untilTestEnds, `http://${HOST}:${port}/smartWeb`);
    await call(sidecar.listen, `${RPC}/TestInOut`, 10);
    process.kill(pid, 'SIGKILL');
    await expectVerdict(chromium, sidecar, unreachable('server', /does not accept connections \(ECONNREFUSED\)/), () =>
      call(sidecar.listen, `${RPC}/TestInOut`, 10),
    );
  });

  it('knows that a server that nobody calls was stopped', async () => {
    const { port, pid } = await startTomcat(untilTestEnds);
    const sidecar = await startBefore(untilTestEnds, `http://${HOST}:${port}/smartWeb`);
    await call(sidecar.listen, `${RPC}/TestInOut`, 1);
    process.kill(pid, 'SIGTERM');
    await expectVerdict(chromium, sidecar, unreachable('server', /does not accept connections \(ECONNREFUSED\)/));
  });
}

function withTls(chromium: Chromium): void {
  const defer = deferTo(afterAll);
  const certificates = new CertificateFolder();
  defer(() => certificates.remove());
  const authority = certificates.authority();
  const names = ['expired', 'early', 'other', 'trusted', 'old', 'plain'] as const;
  const ports = new Map<string, number>();

  beforeAll(async () => {
    const pairs = {
      expired: certificates.signed(authority, { name: 'localhost', days: -1 }),
      early: certificates.signed(authority, { name: 'localhost', fromDays: 2 }),
      other: certificates.signed(authority, { name: 'elsewhere', alternatives: 'DNS:elsewhere.example' }),
      trusted: certificates.signed(authority, { name: 'localhost' }),
      old: certificates.signed(authority, { name: 'localhost', key: 'rsa' }),
    };
    const free = await freePorts(names.length);
    const servers = names.map((name, i) => {
      const port = free[i] ?? 0;
      ports.set(name, port);
      if (name === 'plain') return `server { listen ${HOST}:${port}; return 200; }`;
      const { certFile, keyFile } = pairs[name];
      const versions = name === 'old' ? 'ssl_protocols TLSv1.1; ssl_ciphers DEFAULT:@SECLEVEL=0;' : '';
      return `server { listen ${HOST}:${port} ssl; ssl_certificate ${certFile}; ssl_certificate_key ${keyFile}; ${versions} return 200; }`;
    });
    await startProxyProgram(defer, 'nginx', servers.join('\n'), { host: HOST, port: ports.get('plain') ?? 0 });
  }, TIMEOUT_MS);

  it.each([
    ['expired', 'server', /^The server: TLS with it fails: .*expired/],
    ['early', 'sidecar', /TLS with the server fails: its certificate is not valid yet/],
    ['other', 'sidecar', /TLS with the server fails: .*name/],
    ['old', 'sidecar', /TLS with the server fails: .*(?:protocol|version)/],
    ['plain', 'sidecar', /TLS with the server fails: .*(?:no TLS|not speak TLS)/],
  ] as const)('names what is wrong with the server: %s', async (name, subject, text) => {
    const config = { upstream: { tls: { caFile: authority.certFile } } };
    const sidecar = await startBefore(untilTestEnds, `https://${HOST}:${ports.get(name)}/smartWeb`, config);
    await expectVerdict(chromium, sidecar, { code: 'upstream-tls', subject, text });
  });

  it('names an authority that is not trusted', async () => {
    const sidecar = await startBefore(untilTestEnds, `https://${HOST}:${ports.get('trusted')}/smartWeb`);
    const text = /TLS with the server fails: .*(?:authority|trust)/;
    await expectVerdict(chromium, sidecar, { code: 'upstream-tls', subject: 'sidecar', text });
  });

  it.each([
    ['expired', { days: -1 }, /^The sidecar: clients cannot trust its certificate .*expired/],
    ['not yet valid', { fromDays: 2 }, /^The sidecar: clients cannot trust its certificate .*valid/],
  ])("names the sidecar's own certificate: %s", async (_, times, text) => {
    const tls = certificates.signed(authority, { name: 'localhost', ...times });
    const config = { listen: { tls } };
    const sidecar = await startBefore(untilTestEnds, `http://${HOST}:${ports.get('plain')}/smartWeb`, config);
    await expectVerdict(chromium, sidecar, { code: 'own-certificate', subject: 'sidecar', text });
  });
}

function onTheNetwork(chromium: Chromium): void {
  it('says that no address is known for the name of the server', async () => {
    const sidecar = await startBefore(untilTestEnds, 'http://no-such-host.invalid/smartWeb');
    await expectVerdict(
      chromium,
      sidecar,
      unreachable('network', /no route to the server.*\((?:ENOTFOUND|EAI_AGAIN)\)/),
    );
  });

  it.runIf(canEnterNetworks)('says that there is no route to the server', async () => {
    const command = [...(await createNetwork(untilTestEnds)), process.execPath];
    const where = { command, host: INSIDE };
    const sidecar = await startBefore(untilTestEnds, 'http://192.0.2.1/smartWeb', {}, where);
    await expectVerdict(chromium, sidecar, unreachable('network', /no route to the server.*\(ENETUNREACH\)/));
  });

  it('says that a server that closes each connection fails all calls', async () => {
    const server = net.createServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.destroy()),
    );
    untilTestEnds(() => server.close());
    const sidecar = await startBefore(untilTestEnds, `http://${HOST}:${await listening(server)}/smartWeb`);
    const text = /^The server: 100 % of the calls failed/;
    await expectVerdict(chromium, sidecar, { code: 'calls-fail', subject: 'server', text }, () =>
      call(sidecar.listen, `${RPC}/TestInOut`, 5),
    );
  });

  it('says that a server that only speaks TLS fails all calls of http://', async () => {
    const certificates = new CertificateFolder();
    untilTestEnds(() => certificates.remove());
    const { certFile, keyFile } = certificates.selfSigned({ name: 'localhost' });
    const [port = 0] = await freePorts(1);
    const words = ['s_server', '-quiet', '-accept', `${HOST}:${port}`, '-cert', certFile, '-key', keyFile];
    const server = spawn('openssl', words, { stdio: 'ignore' });
    const exited = exitOf(server);
    untilTestEnds(() => stopProcess(server, exited, 'SIGTERM'));
    await untilListening(port, () => hasEnded(server));
    const sidecar = await startBefore(untilTestEnds, `http://${HOST}:${port}/smartWeb`);
    const text = /^The server: 100 % of the calls failed/;
    await expectVerdict(chromium, sidecar, { code: 'calls-fail', subject: 'server', text }, () =>
      call(sidecar.listen, `${RPC}/TestInOut`, 5),
    );
  });
}

function withJvm(chromium: Chromium): void {
  const defer = deferTo(afterAll);
  const folder = new Folder();
  defer(() => folder.remove());
  let tomcat: ManagerTomcat;

  beforeAll(async () => {
    tomcat = await startManagerTomcat(defer);
  }, TIMEOUT_MS);

  const rule = (name: string) => ({
    methods: ['GET'],
    path: `/${name.toLowerCase()}`,
    kind: 'rpc',
    name: `Plant.${name}`,
  });
  const start = (diagnosis = {}) =>
    startBefore(untilTestEnds, `${tomcat.origin}/beans`, {
      jvm: { ...managerKeys(tomcat, folder, 'status'), attach: true, interval: '1s' },
      rest: { rules: ['Hold', 'Burn', 'Fill'].map(rule) },
      ...diagnosis,
    });
  const get = (sidecar: SidecarProcess, target: string, count: number) =>
    call(sidecar.listen, `/beans/${target}`, count, 'GET');
  const expectServer = (
    sidecar: SidecarProcess,
    code: Expected['code'],
    text: RegExp,
    provoke: () => Promise<unknown>,
  ) => expectVerdict(chromium, sidecar, { code, subject: 'server', text }, provoke, 'beans');

  // Each test leaves the JVM in a state that the next ones can use.
  it('says that the JVM uses all its processors', async () => {
    pinToOneProcessor(tomcat.pid);
    untilTestEnds(() => execFileSync('taskset', ['-a', '-cp', '0-63', String(tomcat.pid)]));
    const sidecar = await start();
    let isOver = false;
    untilTestEnds(() => {
      isOver = true;
    });
    // Of several lengths, so that there is always one that runs.
    const burn = async (ms: number) => {
      while (!isOver) await get(sidecar, `burn?ms=${ms}`, 1);
    };
    await expectServer(sidecar, 'processors', /^The server: its JVM uses (?:0\.9|1\.)\d* of 1 processors/, async () => {
      for (const ms of [2_300, 2_900, 3_500, 4_100]) void burn(ms);
    });
  });

  it('says that the server has no descriptors left', async () => {
    const port = Number(new URL(tomcat.origin).port);
    const clients = Array.from({ length: 100 }, () => net.connect(port, HOST).on('error', () => undefined));
    untilTestEnds(() => {
      for (const client of clients) client.destroy();
    });
    await Promise.all(clients.map((client) => once(client, 'connect')));
    const open = readdirSync(`/proc/${tomcat.pid}/fd`).length;
    execFileSync('prlimit', ['--pid', String(tomcat.pid), `--nofile=${open + 12}:`]);
    untilTestEnds(() => execFileSync('prlimit', ['--pid', String(tomcat.pid), '--nofile=1000:']));
    const sidecar = await start();
    const text = /^The server: it has \d+ of \d+ descriptors open/;
    await expectServer(sidecar, 'descriptors', text, () => get(sidecar, 'burn?ms=1', 2));
  });

  it('names the call that hangs', async () => {
    const sidecar = await start();
    await expectServer(sidecar, 'hung-calls', /^The server: rpc Plant\.Hold hangs: 4 calls/, async () => {
      void get(sidecar, 'hold', 4);
    });
  });

  it('says that all request threads are busy', async () => {
    const sidecar = await start();
    untilTestEnds(() => fetch(`${tomcat.origin}/beans/hold?release`));
    // Four are still held, and the status page takes the tenth.
    await expectServer(sidecar, 'no-threads', /^The server: all its 10 request threads are busy/, async () => {
      void get(sidecar, 'hold', 5);
    });
  });

  it('finds a deadlock', async () => {
    await fetch(`${tomcat.origin}/beans/deadlock`);
    const threads = { whenCallRuns: '2s', folder: temporaryFolder(untilTestEnds), atMostEvery: '1s' };
    const sidecar = await start({ diagnosis: { threads } });
    const text = /^The server: a deadlock, which only a restart ends \(2 threads/;
    await expectServer(sidecar, 'deadlock', text, () => get(sidecar, 'burn?ms=4000', 1));
  });

  it('names the call that fails since no memory is left', async () => {
    const sidecar = await start();
    const text = /^The server: 100 % of the calls failed .*most often Plant\.Fill/;
    await expectServer(sidecar, 'calls-fail', text, async () => {
      for (let i = 0; i < 4; i += 1) await get(sidecar, 'fill', 1);
    });
  });
}
