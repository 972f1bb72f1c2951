/** A real sidecar with slow clients, other users and an upstream, each in a process of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { untilTestEnds } from '../deferred.ts';
import { readSamples } from '../monitor/prometheus/samples.ts';
import { portOf } from '../net.ts';
import { exitOf, startSidecarBefore } from '../sidecar-process.ts';

export const USERS = 10;
const PAUSE_MS = 20;
/** More than the kernel buffers for a client that reads nothing: the rest waits in the sidecar, and pauses the upstream. */
const LARGE_BYTES = 4 * 1_024 * 1_024;

export interface Served {
  readonly latenciesUs: readonly number[];
  readonly failures: readonly string[];
  readonly users: number;
}

function forkProgram(name: string, ...parameters: readonly (string | number)[]): ChildProcess {
  const file = fileURLToPath(new URL(`../../programs/slow-clients/${name}.mjs`, import.meta.url));
  const child = fork(file, parameters.map(String));
  untilTestEnds(async () => {
    child.kill();
    await exitOf(child);
  });
  return child;
}

export async function startSlowStand(env: Readonly<Record<string, string>>) {
  const upstream = forkProgram('upstream', LARGE_BYTES);
  const [upstreamPort] = (await once(upstream, 'message')) as [number];
  const sidecar = await startSidecarBefore(upstreamPort, env);
  untilTestEnds(() => sidecar.stop());
  const url = `http://${sidecar.listen}/smartWeb/api/rest/v0/d2/rpc/E.Other/Call`;
  const users = forkProgram('users', url, USERS, PAUSE_MS);
  /** What the other users met `during` that time. */
  const served = async (during: () => Promise<unknown>): Promise<Served> => {
    users.send('start');
    try {
      await during();
    } finally {
      users.send('stop');
    }
    return ((await once(users, 'message')) as [Served])[0];
  };
  const sample = async (name: string) => (await readSamples(sidecar.monitor)).get(name);
  return { port: portOf(sidecar.listen), served, sample };
}
