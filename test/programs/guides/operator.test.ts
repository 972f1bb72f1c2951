/**
 * A new operator installs the Debian package on a machine with a Tomcat and a Prometheus, follows the guides command by command
 * as written, and sees numbers in Prometheus. Each stage builds on the previous ones. D2S_LIST_COMMANDS=1 prints the result of each command.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
  let folder: string;
  let rendering: Rendering;
  const operators = new Map<string, Operator>();

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'd2s-guides-'));
    const checkout = path.join(folder, 'checkout');
    await copyProject(checkout);
    rmSync(path.join(checkout, 'build'), { recursive: true, force: true });
    rendering = new Rendering(checkout);
    const begin = async (user: string) => {
      const machine = await Machine.boot(checkout);
      const plant = new Plant(machine);
      operators.set(user, { machine, plant, follower: new Follower(machine, plant, rendering) });
      await plant.start();
    };
    await Promise.all([...USERS.map(begin), succeed('npm', ['run', 'build', '--silent'], checkout)]);
  }, SLOW_MS);

  afterAll(async () => {
    for (const { machine, follower } of operators.values()) {
      if (process.env.D2S_LIST_COMMANDS !== undefined) process.stdout.write(`${follower.told.join('\n')}\n`);
      await machine.halt();
    }
    rendering?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const operatorOf = (user: string): Operator => {
    const operator = operators.get(user);
    if (operator === undefined) throw new Error(`no machine with the sidecar as ${user}`);
    return operator;
  };

  it.each(USERS)('installs the package, as the user %s', async (user) => {
    const { machine, follower } = operatorOf(user);
    // Made once: the package is the same.
    const without = user === USERS[0] ? /systemctl/ : /systemctl|^n/;
    await follower.follow(readDocument('docs/install.md'), { section: 'Debian', without });
    if (user === 'tomcat') await follower.follow(readDocument('docs/install.md'), { section: "The JVM's counters" });
    expect(await machine.succeed('stat -c "%U:%G %a" /etc/d2-sidecar')).toBe(`root:${user} 750\n`);
  });

  it.each(USERS)('puts it before Tomcat, as the user %s', async (user) => {
    const { machine, plant, follower } = operatorOf(user);
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
    const { machine, follower } = operatorOf(user);
    await follower.follow(readDocument('docs/prometheus.md'));
    expect(await machine.succeed('systemctl is-active d2-sidecar')).toBe('active\n');
  });

  it('renders the manifests for a cluster', async () => {
    await operatorOf('tomcat').follower.follow(readDocument('docs/kubernetes.md'));
  });

  it.each(USERS)('sees the calls in Prometheus, with the sidecar as the user %s', async (user) => {
    const { plant } = operatorOf(user);
    await plant.untilScraped();
    expect(plant.calls).toBeGreaterThan(0);
    expect(await plant.query('sum(d2_calls_total{job="d2-sidecar",kind="rpc",outcome="ok"})')).toBe(plant.calls);
  });

  it.each([
    ['a command that fails', 'sh', 'd2-sidecar check --config absent.yaml', 'exit code 1'],
    ['a missing program', 'sh', 'd2-sidcar health', 'd2-sidcar: command not found'],
    ['a service that does not start', 'sh', 'sudo systemctl restart absent', 'Unit absent.service not found'],
    ['a command that ends the shell', 'sh', 'exit 0', 'it has ended the shell'],
  ])('is stopped by %s', async (_, language, text, fault) => {
    const { machine, plant } = operatorOf('tomcat');
    const guide = parseDocument('docs/made-up.md', `\`\`\`${language}\n${text}\n\`\`\`\n`);
    await expect(new Follower(machine, plant, rendering).follow(guide)).rejects.toThrow(fault);
  });
});
