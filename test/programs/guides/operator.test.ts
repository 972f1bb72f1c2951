/**
 * A new operator installs the Debian package on a machine with a Tomcat and a Prometheus, follows the guides command by command
 * as written, and sees numbers in Prometheus. Each stage builds on the previous ones. D2S_LIST_COMMANDS=1 prints the result of each command.
 */

import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { readDocument } from '../../support/docs/documents.ts';
import { canBoot, Machine } from '../../support/guides/machine.ts';
import { copyProject, succeed } from '../../support/install/project-copy.ts';
import { isAvailable } from '../../support/programs.ts';
import { Follower } from './follow.ts';
import { Plant } from './plant.ts';

/** A Tomcat starts, and a package is made, on a busy machine. */
const SLOW_MS = 300_000;
const canRun = isAvailable('fresh machines, as root', canBoot());

describe.runIf(canRun)('a new operator', { timeout: SLOW_MS }, () => {
  const defer = deferTo(afterAll);
  const checkout = path.join(temporaryFolder(defer), 'checkout');
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
    await Promise.all([plant.start(), succeed('npm', ['run', 'build', '--silent'], checkout)]);
  }, SLOW_MS);

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
    const manager =
      "curl --silent --output /dev/null --write-out '%{http_code}' http://plant.example:8081/manager/html";
    expect(await machine.succeed(manager)).toBe('403');
  });

  it('lets it read the JVM’s counters as the user of Tomcat', async () => {
    await follower.follow(readDocument('docs/install.md'), { section: "The JVM's counters" });
    await machine.succeed('systemctl restart d2-sidecar');
    await expectServiceOf('tomcat', true);
  });

  it('gives Prometheus a token, and sees the calls there', async () => {
    await follower.follow(readDocument('docs/prometheus.md'));
    expect(await machine.succeed('systemctl is-active d2-sidecar')).toBe('active\n');
    const isScraped = async () => (await plant.query('up{job="d2-sidecar"}')) === 1;
    await plant.until(isScraped, 'Prometheus has not scraped the sidecar');
    expect(plant.calls).toBeGreaterThan(0);
    expect(await plant.query('sum(d2_calls_total{job="d2-sidecar",kind="rpc",outcome="ok"})')).toBe(plant.calls);
  });
});
