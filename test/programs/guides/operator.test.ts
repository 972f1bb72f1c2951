/**
 * A new operator installs the Debian package on a machine with a Tomcat and a Prometheus, follows the guides command by command
 * as written, and sees numbers in Prometheus. Each stage builds on the previous ones. D2S_LIST_COMMANDS=1 prints the result of each command.
 */
import { readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { ROOT, readDocument } from '../../support/docs/documents.ts';
import { playsAll } from '../../support/effort.ts';
import { canBoot, Machine } from '../../support/guides/machine.ts';
import { makeExecutable } from '../../support/install/executable.ts';
import { copyProject } from '../../support/install/project-copy.ts';
import { succeed } from '../../support/install/run.ts';
import { isAvailable } from '../../support/programs.ts';
import { Follower } from './follow.ts';
import { Plant } from './plant.ts';

/** A Tomcat starts, and a package is made, on a busy machine. */
const SLOW_MS = 300_000;
const ANSWERED = 'sum(d2_calls_total{job="d2-sidecar",kind="rpc",outcome="ok"})';
const RATE = 280;
const RESTARTS = playsAll ? 5 : 2;
const HANGING_CALLS = 250;
const SLOW_CALL_MS = playsAll ? 6_000 : 2_000;
/** With a slow call always running, the service restarts, and a package whose version is newer is installed. */
const UNDER_LOAD = `set -e; rm -f /run/hold /run/begun; mkfifo /run/hold
node /run/steady-clients.mjs ${RATE} ${SLOW_CALL_MS} /run/begun < /run/hold > /run/told & exec 9> /run/hold
for n in $(seq 100); do [ -e /run/begun ] || sleep 0.1; done; [ -e /run/begun ]
for n in $(seq ${RESTARTS}); do systemctl restart d2-sidecar; sleep 1; done
dpkg --install build/newer/*.deb > /dev/null; sleep 1
exec 9>&-; wait; cat /run/told`;

interface Report {
  readonly statistics: { readonly smartWeb: { readonly timers: Readonly<Record<string, { readonly count: number }>> } };
}

const canRun = isAvailable('fresh machines, as root', canBoot());

describe.runIf(canRun)('a new operator', { timeout: SLOW_MS }, () => {
  const defer = deferTo(afterAll);
  const folder = temporaryFolder(defer);
  const checkout = path.join(folder, 'checkout');
  let machine: Machine;
  let plant: Plant;
  let follower: Follower;

  beforeAll(async () => {
    await copyProject(checkout);
    rmSync(path.join(checkout, 'build'), { recursive: true, force: true });
    machine = await Machine.boot(defer, checkout);
    plant = new Plant(machine);
    follower = new Follower(machine, plant);
    defer(() => {
      if (process.env.D2S_LIST_COMMANDS !== undefined) process.stdout.write(`${follower.told.join('\n')}\n`);
    });
    // By it a container image forbids packages to restart services.
    await machine.succeed('rm -f /usr/sbin/policy-rc.d');
    await Promise.all([plant.start(), makePackages()]);
  }, SLOW_MS);

  /** This version in the checkout, where the guide expects it; a newer one, and one that the operator has kept. */
  async function makePackages(): Promise<void> {
    await succeed('npm', ['run', 'build', '--silent'], checkout);
    const words = ['scripts/packages.mjs', '--executable', await makeExecutable(folder, checkout), '--only', 'deb'];
    for (const more of [['.'], ['build/newer', '--version', '99.0.0'], ['older', '--version', '0.0.1']])
      await succeed(process.execPath, [...words, ...more], checkout);
  }

  const statusOf = async (url: string) =>
    (await machine.run(`curl --silent --output /dev/null --write-out '%{http_code}' ${url}`)).stdout;
  const readMetrics = () => machine.succeed('curl --silent http://127.0.0.1:9280/metrics');

  /** The service runs as this user, alone with its configuration, and reads the JVM or does not. */
  async function expectServiceOf(user: string, isJvmRead: boolean): Promise<void> {
    expect(await machine.succeed('systemctl show --property User --value d2-sidecar')).toBe(`${user}\n`);
    expect(await machine.succeed('stat -c "%U:%G %a" /etc/d2-sidecar')).toBe(`root:${user} 750\n`);
    const line = `d2_sidecar_jvm_source_up ${isJvmRead ? 1 : 0}`;
    // The JVM is read every few seconds.
    await plant.until(async () => (await readMetrics()).includes(line), `no ${line}`);
  }

  it('installs the package, and puts it before Tomcat', async () => {
    // It is configured before its start.
    await follower.follow(readDocument('docs/install.md'), { section: 'Debian', without: /systemctl/ });
    await follower.follow(readDocument('docs/tomcat.md'));
    await expectServiceOf('d2-sidecar', false);
    const metrics = await readMetrics();
    expect(metrics).toMatch(/^d2_sidecar_exchanges_total\{.*\} [1-9]/m);
    expect(metrics).not.toMatch(/^d2_sidecar_upstream_failures_total\{.*\} [1-9]/m);
    expect(await statusOf('http://plant.example:8081/manager/html')).toBe('403');
  });

  it('lets it read the JVM’s counters as the user of Tomcat', async () => {
    await follower.follow(readDocument('docs/install.md'), { section: "The JVM's counters" });
    await machine.succeed('systemctl restart d2-sidecar');
    await expectServiceOf('tomcat', true);
    const names = ['process.cpu', 'process.descriptors.max', 'process.descriptors.open', 'process.memory'];
    const readServer = 'curl --silent http://127.0.0.1:9280/smartWeb/api/rest/v0/admin/metrics/server';
    const isComplete = async () => {
      const { gauges } = JSON.parse(await machine.succeed(readServer)) as { gauges: object };
      return names.every((name) => `server.${name}` in gauges);
    };
    await plant.until(isComplete, 'the process of the server is not known');
    const checked = await machine.run('d2-sidecar check --config /etc/d2-sidecar/sidecar.yaml');
    expect(checked).toMatchObject({ code: 0, stderr: expect.not.stringContaining('ProtectProc') });
  });

  it('answers at three in the morning while every thread of Tomcat hangs, as root and as the user of the service', async () => {
    // More than its request threads; a call outlasts this test.
    const calls = `http://127.0.0.1:8081/smartWeb/api/rest/v0/d2/rpc/E.Demo/Sleep600000?call=[1-${HANGING_CALLS}]`;
    const clients = `curl --silent --parallel --parallel-immediate --parallel-max ${HANGING_CALLS} --output /dev/null --data {}`;
    await machine.succeed(
      `systemd-run --quiet --unit hanging-clients ${clients} --user 'anna:word of anna' '${calls}'`,
    );
    const askVerdict = () => machine.run('d2-sidecar verdict');
    await plant.until(async () => (await askVerdict()).code === 2, 'the verdict does not name the server');
    expect((await askVerdict()).stdout).toMatch(
      /^The server: .*(?:E\.Demo\.Sleep600000 hangs|request threads are busy)/,
    );
    await machine.succeed('usermod --append --groups systemd-journal tomcat');
    for (const user of ['root', 'tomcat']) {
      const folder = `/run/night-of-${user}`;
      await machine.succeed(`install --directory --owner ${user} ${folder}`);
      const typist = new Follower(machine, plant, user, folder);
      await typist.follow(readDocument('docs/troubleshooting.md'), { section: 'At three in the morning' });
      expect(typist.told).toHaveLength(5);
      const dump = await machine.succeed(`cat ${folder}/threads.txt`);
      expect(dump.match(/java\.lang\.Thread\.sleep/g)?.length).toBeGreaterThan(100);
      expect(await machine.succeed(`stat -c '%U %a' ${folder}/report.json`)).toBe(`${user} 600\n`);
    }
    await machine.succeed('systemctl stop hanging-clients && systemctl restart tomcat10');
    await plant.untilReady();
  });

  it('gives Prometheus a token, and sees the calls there', async () => {
    await follower.follow(readDocument('docs/prometheus.md'));
    expect(await machine.succeed('systemctl is-active d2-sidecar')).toBe('active\n');
    const isScraped = async () => (await plant.query('up{job="d2-sidecar"}')) === 1;
    await plant.until(isScraped, 'Prometheus has not scraped the sidecar');
    expect(plant.calls).toBeGreaterThan(0);
    expect(await plant.query(ANSWERED)).toBe(plant.calls);
  });

  /** Calls of anna, by the counters of the service itself, which state.file keeps. */
  async function countCalls(): Promise<number> {
    const report = JSON.parse(await machine.succeed('d2-sidecar report')) as Report;
    return report.statistics.smartWeb.timers.rpc?.count ?? 0;
  }

  it('restarts and upgrades it with a call running: no client is refused, no call fails, and each is counted once', async () => {
    const dropIn = '/etc/systemd/system/d2-sidecar.service.d/restarts.conf';
    await machine.write(dropIn, `[Service]\nEnvironment=D2_SIDECAR_STOP_DEADLINE=8s\n`);
    await machine.succeed('systemctl daemon-reload && systemctl restart d2-sidecar');
    await follower.follow(readDocument('docs/install.md'), { section: 'Restarts that clients do not notice' });
    const clients = readFileSync(path.join(ROOT, 'test/support/guides/steady-clients.mjs'), 'utf8');
    await machine.write('/run/steady-clients.mjs', clients);
    const before = await countCalls();
    const told = JSON.parse(await machine.succeed(UNDER_LOAD)) as { answered: number; failed: readonly string[] };
    expect(told.failed).toEqual([]);
    expect(told.answered).toBeGreaterThan(RESTARTS * RATE);
    expect((await countCalls()) - before).toBe(told.answered);
    expect(await machine.succeed('dpkg-query --status d2-sidecar')).toMatch(/^Version: 99\.0\.0/m);
  });

  it('goes on with the old version while the new one refuses the configuration', async () => {
    const pidOf = () => machine.succeed('systemctl show --property MainPID --value d2-sidecar');
    const pid = await pidOf();
    await machine.succeed('echo "lisen: {}" >> /etc/d2-sidecar/sidecar.yaml');
    const { stderr } = await machine.run('dpkg --install build/newer/*.deb');
    expect(stderr).toContain('lisen: unknown key');
    expect(stderr).toContain('this version would not start, so the old one goes on');
    expect(await pidOf()).toBe(pid);
    await machine.succeed('sed -i /^lisen/d /etc/d2-sidecar/sidecar.yaml');
  });

  it('runs a second sidecar beside it, and goes back to the older version and its counters', async () => {
    // The drop-ins of the first are not its own: it reads the configuration as its own user.
    await machine.succeed('chmod 755 /etc/d2-sidecar');
    await follower.follow(readDocument('docs/install.md'), { section: 'Two sidecars on one host' });
    expect(await statusOf('http://127.0.0.1:9281/readyz')).toBe('200');
    await machine.succeed('systemctl disable --now d2-second d2-second.socket d2-second-monitor.socket 2> /dev/null');
    const before = await countCalls();
    await machine.succeed(
      'systemctl stop d2-sidecar.socket d2-sidecar-monitor.socket d2-sidecar && systemctl start d2-sidecar',
    );
    await follower.follow(readDocument('docs/install.md'), {
      section: 'Upgrade, and roll back',
      without: /install \.\/d2/,
    });
    expect(await machine.succeed('dpkg-query --status d2-sidecar')).toMatch(/^Version: 0\.0\.1/m);
    expect(await countCalls()).toBeGreaterThanOrEqual(before);
  });

  it('gets sockets on the service’s own address by an upgrade from a package that has none', async () => {
    const units = '/usr/lib/systemd/system/d2-sidecar';
    const port = '/etc/systemd/system/d2-sidecar.service.d/port.conf';
    await machine.succeed(`set -e; systemctl disable d2-sidecar 2> /dev/null
systemctl stop d2-sidecar.socket d2-sidecar-monitor.socket d2-sidecar
rm -rf ${units}.socket ${units}-monitor.socket /etc/systemd/system/d2-sidecar*.socket.d
sed -i '/^Sockets=/d; /^Also=/d' ${units}.service`);
    await machine.write(port, '[Service]\nEnvironment=D2_SIDECAR_LISTEN_PORT=8082\n');
    await machine.succeed('systemctl daemon-reload && systemctl enable --now d2-sidecar 2> /dev/null');
    const isListening = async (by: string) =>
      (await machine.succeed('ss --listening --tcp --numeric --processes "sport = 8082"')).includes(by);
    expect(await isListening('"systemd"')).toBe(false);
    await machine.succeed('dpkg --install build/newer/*.deb');
    expect(await isListening('"systemd"')).toBe(true);
    const states = await machine.succeed(
      'systemctl is-enabled d2-sidecar.socket; systemctl is-active d2-sidecar d2-sidecar.socket d2-sidecar-monitor.socket',
    );
    expect(states).toBe('enabled\nactive\nactive\nactive\n');
    expect(await statusOf('http://127.0.0.1:8082/smartWeb/')).toMatch(/^[2-4]\d\d$/);
  });
});
