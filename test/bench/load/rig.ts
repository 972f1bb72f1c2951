/** Starts upstreams and peers on their cores: peers on their own, everything else on the harness's. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { nginxFront, nginxUpstream } from './peers/nginx.ts';
import { nodeProgram } from './peers/node-peers.ts';
import { findFile, type Peer, type Spot } from './peers/peer.ts';
import { freePorts, untilListening } from './ports.ts';
import { type Command, hasEnded, type Processes } from './processes.ts';

/** `nginx`: fast, and answers before an upload has ended; `stand`: reads uploads and holds polls. */
export type UpstreamKind = 'nginx' | 'stand';

export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly spot: Spot;
  /** From the start of the process to the first accepted connection. */
  readonly startMs: number;
}

export interface RigParts {
  readonly processes: Processes;
  readonly folder: string;
  /** Undefined if processes cannot be pinned. */
  readonly peerCore: number | undefined;
}

export class Rig {
  readonly processes: Processes;
  readonly #folder: string;
  readonly #peerCore: number | undefined;
  #started = 0;

  constructor({ processes, folder, peerCore }: RigParts) {
    this.processes = processes;
    this.#folder = folder;
    this.#peerCore = peerCore;
  }

  startUpstream(kind: UpstreamKind): Promise<Running> {
    const isNginx = kind === 'nginx' && findFile('nginx') !== undefined;
    const toCommand = ({ port, folder }: Spot) => (isNginx ? nginxUpstream(port, folder) : nodeProgram('stand', port));
    return this.#start('upstream', 0, toCommand, undefined);
  }

  startPeer(peer: Peer, upstreamPort: number): Promise<Running> {
    return this.#start(peer.name, upstreamPort, (spot) => peer.command(spot), this.#peerCore);
  }

  /** nginx in its default form before a peer, on the harness's core. */
  startFront(peerPort: number): Promise<Running> {
    return this.#start('front', peerPort, nginxFront, undefined);
  }

  stop({ child }: Running): Promise<void> {
    return this.processes.stop(child);
  }

  async #start(
    name: string,
    upstreamPort: number,
    toCommand: (spot: Spot) => Command,
    core: number | undefined,
  ): Promise<Running> {
    this.#started += 1;
    const folder = path.join(this.#folder, `${name}-${this.#started}`);
    mkdirSync(folder);
    const [port = 0, monitorPort = 0] = await freePorts(2);
    const spot = { port, monitorPort, upstreamPort, folder };
    const command = toCommand(spot);
    const startedMs = performance.now();
    const child = this.processes.start(command, core);
    try {
      await untilListening(port, () => hasEnded(child));
      return { child, pid: child.pid ?? 0, spot, startMs: performance.now() - startedMs };
    } catch (cause) {
      const output = this.processes.outputOf(child).trim().split('\n').at(-1) ?? '';
      await this.processes.stop(child);
      throw new Error(`${(cause as Error).message}: ${output}`, { cause });
    }
  }
}
