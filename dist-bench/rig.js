import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { nginxUpstream } from './peers/nginx.js';
import { nodeProgram } from './peers/node-peers.js';
import { findFile } from './peers/peer.js';
import { freePorts, untilListening } from './ports.js';
import { hasEnded } from './processes.js';
export class Rig {
    processes;
    #folder;
    #peerCore;
    #started = 0;
    constructor({ processes, folder, peerCore }) {
        this.processes = processes;
        this.#folder = folder;
        this.#peerCore = peerCore;
    }
    startUpstream(kind) {
        const isNginx = kind === 'nginx' && findFile('nginx') !== undefined;
        const toCommand = ({ port, folder }) => (isNginx ? nginxUpstream(port, folder) : nodeProgram('stand', port));
        return this.#start('upstream', 0, toCommand, undefined);
    }
    startPeer(peer, upstreamPort) {
        return this.#start(peer.name, upstreamPort, (spot) => peer.command(spot), this.#peerCore);
    }
    stop({ child }) {
        return this.processes.stop(child);
    }
    async #start(name, upstreamPort, toCommand, core) {
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
        }
        catch (cause) {
            const output = this.processes.outputOf(child).trim().split('\n').at(-1) ?? '';
            await this.processes.stop(child);
            throw new Error(`${cause.message}: ${output}`, { cause });
        }
    }
}
