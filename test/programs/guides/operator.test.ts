/**
 * A new operator installs the Debian package on a machine with a Tomcat and a Prometheus, follows the guides command by command
 * as written, and sees numbers in Prometheus. Each stage builds on the previous ones. D2S_LIST_COMMANDS=1 prints the result of each command.
 */

import { rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { parseDocument, readDocument } from '../../support/docs/documents.ts';
import { canBoot, Machine } from '../../support/guides/machine.ts';
import { copyProject, succeed } from '../../support/install/project-copy.ts';
import { isAvailable } from '../../support/programs.ts';
import { canRender } from '../kubernetes/helm/helm.ts';
import { Follower } from './follow.ts';
import { Plant } from './plant.ts';
import { Rendering } from './rendering.ts';

/** Two Tomcats start, and a package is made, on a busy machine. */
const SLOW_MS = 300_000;
const canRun = isAvailable('fresh machines, as root', canBoot()) && canRender;

/** The sidecar's user: as Tomcat's it can read the JVM's counters, but must be given its configuration. */
const USERS = ['tomcat', 'd2-sidecar'] as const;

interface Operator {
  readonly machine: Machine;
  readonly plant: Plant;
  readonly follower: Follower;
}

describe.runIf(canRun)('a new operator', { timeout: SLOW_MS }, () => {
  const defer = deferTo(afterAll);
  const folder = temporaryFolder(defer);
  const checkout = path.join(folder, 'checkout');
  const rendering = new Rendering(checkout);
  defer(() => rendering.close());
  const operators = {} as Record<(typeof USERS)[number], Operator>;

  beforeAll(async () => {
    await copyProject(checkout);
    rmSync(path.join(checkout, 'build'), { recursive: true, force: true });
    const begin = async (user: (typeof USERS)[number]) => {
      const machine = await Machine.boot(checkout);
      defer(() => machine.halt());
      const plant = new Plant(machine);
      const follower = new Follower(machine, plant, rendering);
      defer(() => {
        if (process.env.D2S_LIST_COMMANDS !== undefined) process.stdout.write(`${follower.told.join('\n')}\n`);
      });
      operators[user] = { machine, plant, follower };
      await plant.start();
    };
    await Promise.all([...USERS.map(begin), succeed('npm', ['run', 'build', '--silent'], checkout)]);
  }, SLOW_MS);

  it.each(USERS)('installs the package, as the user %s', async (user) => {
    const { machine, follower } = operators[user];
    // Made once: the package is the same.
    const without = user === USERS[0] ? /systemctl/ : /systemctl|^n/;
    await follower.follow(readDocument('docs/install.md'), { section: 'Debian', without });
    if (user === 'tomcat') await follower.follow(readDocument('docs/install.md'), { section: "The JVM's counters" });
    expect(await machine.succeed('stat -c "%U:%G %a" /etc/d2-sidecar')).toBe(`root:${user} 750\n`);
  });

  it.each(USERS)('puts it before Tomcat, as the user %s', async (user) => {
    const { machine, plant, follower } = operators[user];
    await follower.follow(readDocument('docs/tomcat.md'));
    expect(await machine.succeed('systemctl show --property User --value d2-sidecar')).toBe(`${user}\n`);
    const read = async () => await machine.succeed('curl --silent http://127.0.0.1:9280/metrics');
    const isReadable = `d2_sidecar_jvm_source_up ${user === 'tomcat' ? 1 : 0}`;
    // Tomcat has just restarted, and its JVM is read every few seconds.
    await plant.until(async () => (await read()).includes(isReadable), `no ${isReadable}`);
    const metrics = await read();
    expect(metrics).toMatch(/^d2_sidecar_exchanges_total\{.*\} [1-9]/m);
    expect(metrics).not.toMatch(/^d2_sidecar_upstream_failures_total\{.*\} [1-9]/m);
    const manager =
      "curl --silent --output /dev/null --write-out '%{http_code}' http://plant.example:8081/manager/html";
    expect(await machine.succeed(manager)).toBe('403');
  });

  it.each(USERS)('gives Prometheus a token, and the service continues as the user %s', async (user) => {
    const { machine, follower } = operators[user];
    await follower.follow(readDocument('docs/prometheus.md'));
    expect(await machine.succeed('systemctl is-active d2-sidecar')).toBe('active\n');
  });

  it('renders the manifests for a cluster', async () => {
    await operators.tomcat.follower.follow(readDocument('docs/kubernetes.md'));
  });

  it.each(USERS)('sees the calls in Prometheus, with the sidecar as the user %s', async (user) => {
    const { plant } = operators[user];
    const isScraped = async () => (await plant.query('up{job="d2-sidecar"}')) === 1;
    await plant.until(isScraped, 'Prometheus has not scraped the sidecar');
    expect(plant.calls).toBeGreaterThan(0);
    expect(await plant.query('sum(d2_calls_total{job="d2-sidecar",kind="rpc",outcome="ok"})')).toBe(plant.calls);
  });

  it.each([
    ['a command that fails', 'd2-sidecar check --config absent.yaml', 'exit code 1'],
    ['a missing program', 'd2-sidcar health', 'd2-sidcar: command not found'],
    ['a service that does not start', 'sudo systemctl restart absent', 'Unit absent.service not found'],
    ['a command that ends the shell', 'exit 0', 'it has ended the shell'],
  ])('is stopped by %s', async (_, text, fault) => {
    const { machine, plant } = operators.tomcat;
    const guide = parseDocument('docs/made-up.md', `\`\`\`sh\n${text}\n\`\`\`\n`);
    await expect(new Follower(machine, plant, rendering).follow(guide)).rejects.toThrow(fault);
  });
});
