import type { Socket } from 'node:net';
import { FREE_BYTES } from '../../limits/unfinished-bodies.ts';
import type { TrafficServices } from '../upstream/traffic-services.ts';

/**
 * Reads on after a handshake's head until the upstream has answered: only a socket that is read shows that its client
 * has left. All bytes are charged to the budget (kind `ahead`); the first `FREE_BYTES` are never refused. Without room
 * the connection ends: RFC 6455 §4.1 forbids a client to send before the answer.
 */
export class ReadAhead {
  readonly #socket: Socket;
  readonly #services: TrafficServices;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #isStopped = false;

  private constructor(socket: Socket, services: TrafficServices) {
    this.#socket = socket;
    this.#services = services;
  }

  /** `leftover`: bytes that came with the head. Undefined if the budget has no room for them. */
  static of(socket: Socket, leftover: Buffer, services: TrafficServices): ReadAhead | undefined {
    const ahead = new ReadAhead(socket, services);
    if (!ahead.#keep(leftover)) return undefined;
    socket.on('data', ahead.#onData);
    socket.on('close', ahead.#forget);
    return ahead;
  }

  /** Puts the bytes back into the socket, before its next reader starts. No effect after `drop`. */
  giveBack(): void {
    if (!this.#stop()) return;
    this.#socket.pause();
    const ahead = Buffer.concat(this.#chunks);
    this.#forget();
    // An ended stream cannot take bytes back: such a client closed its side before the upgrade was accepted.
    if (ahead.length > 0 && !this.#socket.readableEnded) this.#socket.unshift(ahead);
  }

  /** Drops the bytes and all that follow. No effect after `giveBack`. */
  drop(): void {
    if (!this.#stop()) return;
    this.#forget();
    this.#socket.resume();
  }

  #stop(): boolean {
    if (this.#isStopped) return false;
    this.#isStopped = true;
    this.#socket.off('data', this.#onData);
    this.#socket.off('close', this.#forget);
    return true;
  }

  #keep(bytes: Buffer): boolean {
    const memory = this.#services.memory;
    if (this.#bytes + bytes.length <= FREE_BYTES) memory.takeAnyway('ahead', bytes.length);
    else if (!memory.take('ahead', bytes.length)) {
      this.#services.reporter.hits.hit('limits.memoryBytes');
      return false;
    }
    this.#chunks.push(bytes);
    this.#bytes += bytes.length;
    return true;
  }

  readonly #forget = (): void => {
    this.#chunks.length = 0;
    this.#services.memory.giveBack('ahead', this.#bytes);
    this.#bytes = 0;
  };

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#keep(chunk)) this.#socket.destroy();
    else if (this.#bytes >= this.#services.options.headBytes) this.#socket.pause();
  };
}
