/** Situations that operators meet, by real processes: within 12 s the verdict and the page name the culprit. See network.test.ts and hanging.test.ts, too. */
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePorts } from '../../bench/load/ports.ts';
import { type Defer, deferTo, temporaryFolder } from '../../support/deferred.ts';
import { Folder } from '../../support/monitor/access/access-files.ts';
import { type Chromium, describeInChromium } from '../../support/page/browser.ts';
import { startProxyProgram } from '../../support/proxy-program.ts';
import { runSidecar, type SidecarProcess } from '../../support/sidecar-process.ts';
import { hasNginx } from '../../support/smuggling/servers.ts';
import { CertificateFolder } from '../../support/tls/certificates.ts';
import { hasTomcat, startTomcat, type Tomcat } from '../../support/tomcat/tomcat.ts';
import {
  hasManager,
  type ManagerTomcat,
  managerKeys,
  startManagerTomcat,
} from '../jvm/http/manager-tomcat/manager-tomcat.ts';
import { isStopped } from '../jvm/truth/truth.ts';
import { call, giveUpByCurl, giveUpInPage, IN_PAGE, REST, readSlowly, sendSlowly } from './clients.ts';
import { type Expected, situationsBy, type Trouble } from './site.ts';

const RPC = `${REST}rpc/E.Demo`;
const HOST = '127.0.0.1';
const TIMEOUT_MS = 60_000;

const QUIET: Expected = ['quiet', 'unknown', /^Nothing to judge by/];
const FINE: Expected = ['fine', 'nobody', /^No sign of trouble/];
const SOME_FAIL: Expected = ['calls-fail', 'server', /^The server: 50 % .*most often E\.Demo\.Fail \(4 of its 4\)/];
const NO_MEMORY: Expected = ['calls-fail', 'server', /^The server: 100 % of the calls failed .*most often Plant\.Fill/];
const LATE = /^The server: 100 % of the calls .* took longer than 1\.0+ s.*slowest was E\.Demo\.Sleep1500/;
const HUNG: Expected = ['hung-calls', 'server', /^The server: rpc E\.Demo\.TestInOut hangs: [34] calls/];
const DESCRIPTORS: Expected = ['descriptors', 'server', /^The server: it has \d+ of \d+ descriptors open/];
const LEFT: Expected = ['clients-leave', 'client', /^Clients, .*: \d+ calls of the last minute were aborted/];
const SLOW: Expected = ['clients-slow', 'client', /^Clients, .* waited .* for their clients/];
const OTHER_NAME = /configuration: \d+ requests .* for \/smartWeb\/\.\.\. would be calls, .* is \/smartweb\./;
const OTHER_PATH = /configuration: \d+ requests .* such as \/smartWeb\/odata.* are no calls/;
const DRAINING: Expected = ['draining', 'sidecar', /^The sidecar is draining on request/];
const GONE: Expected = ['upstream-unreachable', 'server', /does not accept connections \(ECONNREFUSED\)/];
const SILENT: Expected = ['upstream-unreachable', 'network', /does not answer \(.*TIMEOUT\)/];

describeInChromium(
  'the verdict',
  (chromium) => {
    describe.runIf(hasTomcat())('before a Tomcat', () => beforeTomcat(chromium));
    describe.runIf(hasManager)('with the JVM of a Tomcat of ten threads', () => withJvm(chromium));
  },
  TIMEOUT_MS,
);

async function startWarmTomcat(defer: Defer): Promise<Tomcat> {
  const tomcat = await startTomcat(defer);
  // Compiles the JSP.
  await call(`${HOST}:${tomcat.port}`, `${RPC}/TestInOut`, 1);
  return tomcat;
}

function beforeTomcat(chromium: Chromium): void {
  const defer = deferTo(afterAll);
  const situation = situationsBy(chromium, it.concurrent);
  let tomcat: Tomcat;
  let url: string;

  beforeAll(async () => {
    tomcat = await startWarmTomcat(defer);
    url = `http://${HOST}:${tomcat.port}/smartWeb`;
  }, TIMEOUT_MS);

  describe('whose clients make trouble', () => ofClients(chromium, () => url));
  describe('whose JVM stands still', () => beforeStoppedJvm(chromium, () => tomcat));

  situation('is quiet before the first call', QUIET, () => ({ url }));

  situation('is fine while calls are answered', FINE, () => ({
    ...{ url, provoke: ({ listen }) => call(listen, `${RPC}/TestInOut`, 10) },
  }));

  situation('names the call that fails', SOME_FAIL, () => ({
    url,
    provoke: async ({ listen }) => {
      await call(listen, `${RPC}/TestInOut`, 4);
      await call(listen, `${RPC}/Fail`, 4);
    },
  }));

  situation('names the call that takes longer than clients wait', ['calls-late', 'server', LATE], () => ({
    ...{ url, config: { calls: { clientTimeout: '1s' } } },
    provoke: ({ listen }) => call(listen, `${RPC}/Sleep1500`, 4),
  }));

  const otherName: Expected = ['not-classified', 'sidecar', OTHER_NAME];
  situation('names the application that is called and the one that is configured', otherName, () => ({
    ...{ url: url.replace('smartWeb', 'smartweb'), application: 'smartweb' },
    provoke: ({ listen }) => call(listen, `${RPC}/TestInOut`, 25),
  }));

  const otherPath: Expected = ['not-classified', 'sidecar', OTHER_PATH];
  situation('names the path of requests that are no calls', otherPath, () => ({
    ...{ url, provoke: ({ listen }) => call(listen, '/smartWeb/odata/plant', 25, 'GET') },
  }));

  situation('says that the sidecar drains', DRAINING, () => ({
    url,
    provoke: async ({ listen, pid }) => {
      await call(listen, `${RPC}/Fail`, 4);
      await runSidecar(['drain', '--pid', String(pid)]);
    },
  }));

  for (const [what, signal, callsAfter] of [
    ['was killed while it was called', 'SIGKILL', 10],
    ['was stopped while nobody called it', 'SIGTERM', 0],
  ] as const)
    situation(`knows that a server that ${what} is gone`, GONE, async (until) => {
      const own = await startWarmTomcat(until);
      return {
        url: `http://${HOST}:${own.port}/smartWeb`,
        provoke: async ({ listen }) => {
          await call(listen, `${RPC}/TestInOut`, 10);
          process.kill(own.pid, signal);
          await call(listen, `${RPC}/TestInOut`, callsAfter);
        },
      };
    });
}

/** One after the other, and beside nothing else: they stop the JVM. */
function beforeStoppedJvm(chromium: Chromium, tomcatOf: () => Tomcat): void {
  const situation = situationsBy(chromium, it);
  const urlOf = () => `http://${HOST}:${tomcatOf().port}/smartWeb`;

  /** On a busy machine some threads answer for a while. */
  async function stopJvm(until: Defer): Promise<void> {
    const { pid } = tomcatOf();
    until(() => process.kill(pid, 'SIGCONT'));
    process.kill(pid, 'SIGSTOP');
    await vi.waitFor(() => expect(isStopped(pid)).toBe(true), { interval: 2 });
  }

  situation('names the call that hangs while the JVM stands still', HUNG, (until) => ({
    url: urlOf(),
    provoke: async ({ listen }) => {
      for (let i = 0; i < 5; i += 1) await call(listen, `${RPC}/TestInOut`, 4);
      await stopJvm(until);
      void call(listen, `${RPC}/TestInOut`, 4);
    },
  }));

  situation('knows that the queue of a JVM that stands still is full', SILENT, async (until) => {
    await stopJvm(until);
    connectMany(300, tomcatOf().port, until);
    return { url: urlOf(), config: { upstream: { connectTimeout: '2s' } } };
  });
}

function ofClients(chromium: Chromium, urlOf: () => string): void {
  const situation = situationsBy(chromium, it.concurrent);

  for (const [what, act] of [
    ['read', readSlowly],
    ['send', sendSlowly],
  ] as const)
    situation(`blames clients that ${what} slowly`, SLOW, () => ({
      ...{ url: urlOf(), provoke: ({ listen }) => act(listen) },
    }));

  situation('blames clients that give up: curl with TLS', LEFT, (until) => {
    const own = new CertificateFolder(temporaryFolder(until)).selfSigned({ name: 'localhost' });
    return {
      url: urlOf(),
      config: { listen: { tls: own } },
      provoke: ({ listen }) => giveUpByCurl(`https://${listen}`),
    };
  });

  if (hasNginx())
    situation('blames clients that give up: behind nginx', LEFT, (until) => ({
      url: urlOf(),
      provoke: async ({ listen }) => {
        const [port = 0] = await freePorts(1);
        const server = `server { listen ${HOST}:${port}; location / { proxy_pass http://${listen}; } }`;
        await startProxyProgram(until, 'nginx', server, { host: HOST, port });
        await giveUpByCurl(`http://${HOST}:${port}`);
      },
    }));

  situation('blames clients that give up: fetch of Chromium', LEFT, () => ({
    url: urlOf(),
    provoke: async ({ listen }) => {
      const { page } = await chromium.open(`http://${listen}/none`);
      await page.evaluate(giveUpInPage, IN_PAGE);
    },
  }));
}

function connectMany(count: number, port: number, until: Defer): readonly net.Socket[] {
  const clients = Array.from({ length: count }, () => net.connect(port, HOST).on('error', () => undefined));
  until(() => {
    for (const client of clients) client.destroy();
  });
  return clients;
}

function withJvm(chromium: Chromium): void {
  const defer = deferTo(afterAll);
  const situation = situationsBy(chromium, it);
  const folder = new Folder(defer);
  let tomcat: ManagerTomcat;

  beforeAll(async () => {
    tomcat = await startManagerTomcat(defer);
  }, TIMEOUT_MS);

  const rpc = (path: string, name: string) => ({ methods: ['GET'], path, kind: 'rpc', name });
  const before = (provoke: NonNullable<Trouble['provoke']>): Trouble => ({
    ...{ url: `${tomcat.origin}/beans`, application: 'beans', provoke },
    config: {
      jvm: { ...managerKeys(tomcat, folder, 'status'), attach: true, interval: '1s' },
      rest: { rules: [rpc('/burn', 'Plant.Burn'), rpc('/fill', 'Plant.Fill')] },
    },
  });
  const get = ({ listen }: SidecarProcess, target: string, count: number) =>
    call(listen, `/beans/${target}`, count, 'GET');

  situation('says that the server has no descriptors left', DESCRIPTORS, async (until) => {
    const countOpen = () => readdirSync(`/proc/${tomcat.pid}/fd`).length;
    const idle = countOpen();
    connectMany(100, Number(new URL(tomcat.origin).port), until);
    // It accepts them later than they are connected, and closes some of the situation before.
    await vi.waitFor(() => expect(countOpen()).toBeGreaterThanOrEqual(idle + 90), { timeout: 20_000 });
    execFileSync('prlimit', ['--pid', String(tomcat.pid), `--nofile=${countOpen() + 12}:`]);
    until(() => execFileSync('prlimit', ['--pid', String(tomcat.pid), '--nofile=1000:']));
    return before((sidecar) => get(sidecar, 'burn?ms=1', 2));
  });

  situation('names the call that fails since no memory is left', NO_MEMORY, () =>
    before(async (sidecar) => {
      for (let i = 0; i < 4; i += 1) await get(sidecar, 'fill', 1);
    }),
  );
}
