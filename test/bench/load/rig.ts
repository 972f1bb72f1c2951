/** Starts upstreams and peers on their cores: peers on their own, everything else on the harness's. */
import type { ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { nodeProgram } from './peers/node-peers.ts';
import { findFile, type Peer, type Spot } from './peers/peer.ts';
import { nginxFront, nginxUpstream } from './peers/peers.ts';
import { freePorts, untilListening } from './ports.ts';
import { type Command, hasEnded, type Processes } from './processes.ts';

/** `nginx`: fast, and answers before an upload has ended; `stand`: reads uploads and holds polls; `comet-values`: pushes. */
export type UpstreamKind = 'nginx' | 'stand' | 'comet-values';

export interface Running {
  readonly child: ChildProcess;
  readonly pid: number;
  readonly spot: Spot;
  /** From the start of the process to the first accepted connection. */
  readonly startMs: number;
}

export class Rig {
  readonly processes: Processes;
  readonly #folder: string;
  readonly #peerCore: number | undefined;
  #started = 0;

  /** `peerCore`: undefined if processes cannot be pinned. */
  constructor(processes: Processes, folder: string, peerCore: number | undefined) {
    this.processes = processes;
    this.#folder = folder;
    this.#peerCore = peerCore;
  }

  startUpstream(kind: UpstreamKind): Promise<Running> {
    if (kind === 'nginx' && findFile('nginx') !== undefined) return this.#start(0, nginxUpstream);
    return this.#start(0, ({ port }) => nodeProgram(kind === 'nginx' ? 'stand' : kind, port));
  }

  startPeer(peer: Peer, upstreamPort: number): Promise<Running> {
    return this.#start(upstreamPort, (spot) => peer.command(spot), this.#peerCore);
  }

  /** nginx in its default form before a peer, on the harness's core. */
  startFront(peerPort: number): Promise<Running> {
    return this.#start(peerPort, nginxFront);
  }

  async #start(upstreamPort: number, toCommand: (spot: Spot) => Command, core?: number): Promise<Running> {
    this.#started += 1;
    const folder = path.join(this.#folder, `${this.#started}`);
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
