import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import tls from 'node:tls';
import { readAnswer } from '../../bench/load/small-client.ts';
import { next, reset } from '../../support/load/sockets.ts';
import { ATTACKER_ADDRESS } from '../plant.ts';

export interface Target {
  readonly port: number;
  readonly monitorPort: number;
  readonly isShort: boolean;
  /** Of the run; the files of a sidecar are in it. */
  readonly folder: string;
}

export type Cost = Attacker['cost'];

export interface Connecting {
  readonly from?: string | undefined;
  readonly port?: number;
}

const OPENING = 64;
const PAUSE_AFTER_REFUSAL_MS = 20;
/** About a gigabit a second: a larger flood is a firewall's job, and would take the processor from the users and the upstream. */
const LINK_BYTES_PER_MS = 100_000;

/** Opens connections for a flood, counts their cost, and resets the remaining ones at the end. */
export class Attacker {
  readonly target: Target;
  readonly #stop = new AbortController();
  readonly #open = new Set<net.Socket>();
  #isTls = false;
  #connections = 0;
  #closedBytes = 0;
  /** When all bytes sent so far are through the link. */
  #linkFreeMs = 0;

  constructor(target: Target) {
    this.target = target;
  }

  get isOn(): boolean {
    return !this.#stop.signal.aborted;
  }

  get cost() {
    const bytes = [...this.#open].reduce((sum, socket) => sum + sentBytes(socket), this.#closedBytes);
    return { connections: this.#connections, bytes };
  }

  stop(): void {
    this.#stop.abort();
    for (const socket of this.#open) reset(socket);
  }

  overTls(): this {
    this.#isTls = true;
    return this;
  }

  count(full: number, short: number): number {
    return this.target.isShort ? short : full;
  }

  /** Undefined when the connection is not accepted, or the flood is over. */
  async connect({
    from = ATTACKER_ADDRESS,
    port = this.target.port,
  }: Connecting = {}): Promise<net.Socket | undefined> {
    if (!this.isOn) return undefined;
    const options = { port, host: '127.0.0.1', localAddress: from, noDelay: true };
    const socket = this.#isTls ? tls.connect({ ...options, rejectUnauthorized: false }) : net.connect(options);
    this.#connections += 1;
    this.#open.add(socket);
    // Refused, reset by the sidecar, or reset by us at the end.
    socket.on('error', () => {});
    return await new Promise((resolve) => {
      socket.once(this.#isTls ? 'secureConnect' : 'connect', () => resolve(socket));
      socket.once('close', () => {
        this.#open.delete(socket);
        this.#closedBytes += sentBytes(socket);
        resolve(undefined);
      });
    });
  }

  async connectMany(count: number, connecting?: Connecting): Promise<net.Socket[]> {
    const sockets: (net.Socket | undefined)[] = [];
    let left = count;
    const open = async (): Promise<void> => {
      for (; this.isOn && left > 0; sockets.push(await this.connect(connecting))) left -= 1;
    };
    await Promise.all(Array.from({ length: Math.min(OPENING, count) }, open));
    return sockets.filter((socket) => socket !== undefined);
  }

  /** Writes, and resolves once more may be written; false when the connection or the flood is over. */
  async write(socket: net.Socket, bytes: string | Uint8Array): Promise<boolean> {
    await this.#passLink(bytes.length);
    if (!this.isOn || !socket.writable) return false;
    return socket.write(bytes) || ((await next(socket, 'drain')) && this.isOn);
  }

  async #passLink(bytes: number): Promise<void> {
    const nowMs = performance.now();
    const turnMs = Math.max(this.#linkFreeMs, nowMs);
    this.#linkFreeMs = turnMs + bytes / LINK_BYTES_PER_MS;
    if (turnMs - nowMs >= 1) await this.pause(turnMs - nowMs);
  }

  /** Sends a request and waits for its whole answer; the status, or undefined without an answer. */
  async ask(socket: net.Socket, request: string | Uint8Array): Promise<number | undefined> {
    await this.#passLink(request.length);
    if (!this.isOn || !socket.writable) return undefined;
    socket.write(request);
    return await readAnswer(socket);
  }

  /** Several at a time, each in a loop until the flood is over. `act` returns whether all went well. */
  async repeat(count: number, act: () => Promise<boolean>): Promise<void> {
    const one = async (): Promise<void> => {
      while (this.isOn) if (!(await act())) await sleep(PAUSE_AFTER_REFUSAL_MS);
    };
    await Promise.all(Array.from({ length: count }, one));
  }

  /** The same, with a connection for each, reopened whenever it is closed. */
  async repeatOnConnections(count: number, act: (socket: net.Socket) => Promise<boolean>, connecting?: Connecting) {
    const one = async (): Promise<void> => {
      let socket: net.Socket | undefined;
      await this.repeat(1, async () => {
        if (socket?.writable !== true) socket = await this.connect(connecting);
        return socket !== undefined && (await act(socket));
      });
    };
    await Promise.all(Array.from({ length: count }, one));
  }

  async pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async untilEnd(): Promise<void> {
    if (this.isOn) await new Promise((resolve) => this.#stop.signal.addEventListener('abort', resolve, { once: true }));
  }
}

/** Bytes handed to the kernel: bytes queued in this process have cost nothing yet. */
function sentBytes(socket: net.Socket): number {
  return Math.max(0, socket.bytesWritten - socket.writableLength);
}
