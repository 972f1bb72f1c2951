/** A real sidecar with slow clients, other users and an upstream, each in a process of its own. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { portOf } from '../net.ts';
import { exitOf, flagsFor, type SidecarProcess, startSidecarProcess } from '../sidecar-process.ts';

const USERS = fileURLToPath(new URL('../../programs/slow-clients/users.mjs', import.meta.url));
const UPSTREAM = fileURLToPath(new URL('../../programs/slow-clients/upstream.mjs', import.meta.url));

export interface Served {
  readonly latenciesUs: readonly number[];
  readonly failures: readonly string[];
  readonly users: number;
}

export interface SlowClientHarnessOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly largeBytes: number;
  readonly users: number;
  readonly pauseMs: number;
}

export class SlowClientHarness {
  readonly sidecar: SidecarProcess;
  readonly port: number;
  readonly #upstream: ChildProcess;
  readonly #users: ChildProcess;

  private constructor(sidecar: SidecarProcess, upstream: ChildProcess, users: ChildProcess) {
    this.sidecar = sidecar;
    this.port = portOf(sidecar.listen);
    this.#upstream = upstream;
    this.#users = users;
  }

  static async start({ env = {}, largeBytes, users, pauseMs }: SlowClientHarnessOptions): Promise<SlowClientHarness> {
    const upstream = fork(UPSTREAM, [String(largeBytes)]);
    const [port] = (await once(upstream, 'message')) as [number];
    const args = flagsFor(port);
    const sidecar = await startSidecarProcess(args, env).catch((cause: unknown) => {
      upstream.kill();
      throw cause;
    });
    const url = `http://${sidecar.listen}/smartWeb/api/rest/v0/d2/rpc/E.Other/Call`;
    return new SlowClientHarness(sidecar, upstream, fork(USERS, [url, String(users), String(pauseMs)]));
  }

  get pids(): readonly number[] {
    return [this.#upstream.pid, this.sidecar.pid, this.#users.pid].filter((pid) => pid !== undefined);
  }

  async served(during: () => Promise<unknown>): Promise<Served> {
    this.#users.send('start');
    try {
      await during();
    } finally {
      this.#users.send('stop');
    }
    const [served] = (await once(this.#users, 'message')) as [Served];
    return served;
  }

  async sample(name: string): Promise<number> {
    const text = await (await fetch(`http://${this.sidecar.monitor}/metrics`)).text();
    return Number(text.split(`\n${name} `)[1]?.split('\n')[0]);
  }

  hits(limit: string): Promise<number> {
    return this.sample(`d2_sidecar_limit_hits_total{limit="${limit}"}`);
  }

  async close(): Promise<void> {
    for (const child of [this.#users, this.#upstream]) {
      child.kill();
      await exitOf(child);
    }
    await this.sidecar.stop();
  }
}
