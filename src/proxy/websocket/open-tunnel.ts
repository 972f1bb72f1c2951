import type { Socket } from 'node:net';
import { QueuedWrites, type WritesOwner } from '../../limits/stalled-writes.ts';
import { closeFrame, FrameCursor, GOING_AWAY, maskedCloseFrame } from '../../protocol/websocket/frame-cursor.ts';
import { DirectionRate, type FrameRate } from '../../protocol/websocket/frame-rate.ts';
import { resetConnection } from '../../tls/connection-end.ts';
import type { TunnelObserver } from '../exchange/exchange.ts';
import type { TrafficServices } from '../upstream/traffic-services.ts';

/** How long each side may take to answer a close frame; RFC 6455 §7.1.1 does not say. */
const CLOSE_LIMIT_MS = 2_000;

/** `closed`: both sides got a close frame; `cut`: one side got none, or did not answer. */
export type TunnelOutcome = 'closed' | 'cut';

/**
 * One WebSocket between client and upstream. The tunnel follows the frames of both, so that it can close them in order
 * (RFC 6455 §7.1.2) with close frames of its own, each between two frames of the peer that it replaces (§5.5.1):
 *
 * 1. The upstream gets the first, as if its client went away. From then on nothing from the client is passed on.
 * 2. What the upstream still sends is passed on up to its own close frame: no delivered message is lost.
 * 3. In place of that, the client gets one with 1001, after which clients reconnect. When it has answered, both end.
 *
 * If a side does not reach the end of a frame or does not answer in time, the tunnel proceeds without it. A stream that
 * cannot be followed as frames is cut.
 */
export class OpenTunnel implements WritesOwner {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #services: TrafficServices;
  readonly #toClient: QueuedWrites;
  readonly #toUpstream: QueuedWrites;
  readonly #fromClient = new FrameCursor('client');
  readonly #fromUpstream = new FrameCursor('upstream');
  readonly #frameRate: FrameRate;
  readonly #followClient: (bytes: Buffer) => void;
  readonly #followUpstream: (bytes: Buffer) => void;
  #isLeaving = false;
  #isUpstreamClosed = false;
  #isClientClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #onOver: ((outcome: TunnelOutcome) => void) | undefined;

  /** To be created right after the pipes, in the same turn of the event loop; see `observeTunnel`. */
  constructor(client: Socket, upstream: Socket, frameRate: FrameRate, services: TrafficServices) {
    this.#client = client;
    this.#upstream = upstream;
    this.#services = services;
    this.#toClient = new QueuedWrites(client, services.stalled, PAUSED_BYTES, this);
    this.#toUpstream = new QueuedWrites(upstream, services.stalled, PAUSED_BYTES, this);
    this.#frameRate = frameRate;
    this.#followClient = this.#follow(this.#fromClient, this.#toUpstream);
    this.#followUpstream = this.#follow(this.#fromUpstream, this.#toClient);
    client.on('data', this.#followClient);
    upstream.on('data', this.#followUpstream);
  }

  checkStalled(): void {
    this.#toClient.check();
    this.#toUpstream.check();
  }

  /** To be called when the client's connection has closed. */
  release(): void {
    this.#toClient.release();
    this.#toUpstream.release();
  }

  onStalledTooLong(): void {
    this.#services.reporter.hits.hit('limits.memoryBytes');
    resetConnection(this.#client);
  }

  destroy(): void {
    this.#client.destroy();
  }

  /** Follows one direction. Stops when so many frames pass that following them would slow the traffic. */
  #follow(cursor: FrameCursor, queued: QueuedWrites): (bytes: Buffer) => void {
    const rate = new DirectionRate();
    return (bytes) => {
      queued.wrote();
      if (cursor.isLost) return;
      const before = cursor.frames;
      cursor.follow(bytes);
      if (this.#frameRate.isTooFast(rate, cursor.frames - before)) cursor.isLost = true;
    };
  }

  /** Closes the tunnel; only the first call counts. `onOver` gets the outcome, unless both peers close it meanwhile. */
  goAway(onOver: (outcome: TunnelOutcome) => void): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#onOver = onOver;
    this.#client.once('close', () => this.#over('cut'));
    this.#waitFor(() => {
      const areClosing = !this.#isUpstreamClosed && (this.#fromClient.hasClosed || this.#fromUpstream.hasClosed);
      if (areClosing) this.#endBoth('cut');
      else this.#closeClient();
    });
    // The peers are already closing it.
    if (this.#fromClient.hasClosed || this.#fromUpstream.hasClosed) return;
    this.#takeOver();
    if (this.#fromClient.isBetweenFrames) this.#closeUpstream();
  }

  /** Replaces http-proxy's pipes with listeners that can stop at a frame's end. */
  #takeOver(): void {
    const [client, upstream] = [this.#client, this.#upstream];
    client.unpipe(upstream);
    upstream.unpipe(client);
    client.off('data', this.#followClient);
    upstream.off('data', this.#followUpstream);
    client.on('data', (bytes: Buffer) => this.#onClientBytes(bytes));
    upstream.on('data', (bytes: Buffer) => {
      if (this.#isClientClosed) return;
      const end = this.#fromUpstream.advanceToClose(bytes);
      if (end > 0 && !client.write(bytes.subarray(0, end))) upstream.pause();
      this.#toClient.wrote();
      if (end < bytes.length) this.#closeClient();
    });
    // The client may close its side without a close frame, or after one.
    client.on('end', () => this.#endBoth(this.#isClientClosed && this.#fromClient.hasClosed ? 'closed' : 'cut'));
    upstream.on('end', () => this.#closeClient());
    client.on('drain', () => upstream.resume());
    upstream.on('drain', () => client.resume());
    client.resume();
    upstream.resume();
  }

  #onClientBytes(bytes: Buffer): void {
    if (this.#isUpstreamClosed) {
      this.#fromClient.follow(bytes);
      if (this.#isClientClosed && this.#fromClient.hasClosed) this.#endBoth('closed');
      return;
    }
    const end = this.#fromClient.advance(bytes, 0);
    if (!this.#upstream.write(bytes.subarray(0, end))) this.#client.pause();
    this.#toUpstream.wrote();
    // The client sent its own close frame; the upstream needs no other.
    if (this.#fromClient.hasClosed) this.#isUpstreamClosed = true;
    else if (this.#fromClient.isBetweenFrames) this.#closeUpstream();
    this.#fromClient.follow(bytes.subarray(end));
  }

  #closeUpstream(): void {
    this.#isUpstreamClosed = true;
    this.#upstream.write(maskedCloseFrame(GOING_AWAY));
  }

  /** Sends the close frame between two frames of the upstream; inside one the client would read it as payload. */
  #closeClient(): void {
    if (this.#isClientClosed) return;
    if (!this.#fromUpstream.isBetweenFrames) {
      this.#endBoth('cut');
      return;
    }
    this.#isClientClosed = true;
    this.#client.write(closeFrame(GOING_AWAY));
    if (this.#fromClient.hasClosed) this.#endBoth('closed');
    else this.#waitFor(() => this.#endBoth('cut'));
  }

  #waitFor(onTooLong: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onTooLong, CLOSE_LIMIT_MS);
  }

  /** The server's side ends first (RFC 6455 §7.1.1), after all earlier writes. */
  #endBoth(outcome: TunnelOutcome): void {
    this.#over(outcome);
    this.#client.destroySoon();
    this.#upstream.destroySoon();
  }

  #over(outcome: TunnelOutcome): void {
    clearTimeout(this.#timer);
    this.#onOver?.(outcome);
    this.#onOver = undefined;
  }
}

/** How long the second direction of a tunnel may stay open after the first has ended: WebSocket closes both at once. */
const HALF_CLOSED_MS = 30_000;

/** Bytes that the paused side of a stalled tunnel holds, in Node's streams and in the current read. Measured. */
export const PAUSED_BYTES = 104 * 1024;

/**
 * Makes both ends of a tunnel end together. http-proxy's pipes pass on an orderly end, but when one end breaks, they
 * leave the other open for ever. A reset of one end resets the other. `idleMs`: how often a paused end is probed; 0:
 * never.
 */
export function endTogether(client: Socket, upstream: Socket, idleMs: number): void {
  // The end of one direction is passed on as such; the other direction may still carry data.
  upstream.allowHalfOpen = true;
  endWith(client, upstream);
  endWith(upstream, client);
  if (idleMs === 0) return;
  probeWhilePaused(client, idleMs);
  probeWhilePaused(upstream, idleMs);
}

/**
 * Calls http-proxy's `openTunnel`, which writes the 101 and sets the pipes up. Removes its other listeners: they answer
 * a reset of one end with an orderly end of the other, and keep request and answer in memory.
 */
export function withoutProxyListeners(client: Socket, upstream: Socket, openTunnel: () => void): void {
  let onEnd: Listener | undefined;
  const note = (event: string | symbol, listener: Listener) => {
    // Its first one; the pipe's comes after it.
    if (event === 'end') onEnd ??= listener;
  };
  upstream.on('newListener', note);
  openTunnel();
  upstream.off('newListener', note);
  if (onEnd !== undefined) upstream.off('end', onEnd);
  for (const socket of [client, upstream]) socket.removeAllListeners('error').on('error', ignore);
}

/** Not in the function above: a closure would keep what http-proxy's listener keeps. */
const ignore = () => undefined;

type Listener = (...parameters: unknown[]) => void;

/** A paused socket (the other end's buffer is full) does not see its peer leave. An empty write fails. */
function probeWhilePaused(socket: Socket, everyMs: number): void {
  let timer: NodeJS.Timeout | undefined;
  socket.on('pause', () => {
    if (timer !== undefined || socket.destroyed) return;
    // The system then sends keep-alive probes: a vanished peer does not answer, or answers with a reset.
    socket.setKeepAlive(true, everyMs);
    timer = setInterval(() => {
      if (socket.isPaused() && socket.writable && socket.writableLength === 0) socket.write('');
    }, everyMs);
  });
  socket.on('close', () => clearInterval(timer));
}

/**
 * Call right after the pipes are set up, in the same turn of the event loop: neither end has emitted bytes by then, so
 * the observer sees every byte, and the additional listener changes no flow. One set before the pipes would be the only
 * one to get the first bytes.
 */
export function observeTunnel(client: Socket, upstream: Socket, observer: TunnelObserver): void {
  client.on('data', (bytes: Buffer) => observer.onClientBytes(bytes));
  upstream.on('data', (bytes: Buffer) => observer.onUpstreamBytes(bytes));
  let open = 2;
  const onClose = () => {
    open -= 1;
    if (open === 0) observer.onClosed();
  };
  client.once('close', onClose);
  upstream.once('close', onClose);
}

function endWith(first: Socket, second: Socket): void {
  let timer: NodeJS.Timeout | undefined;
  first.on('end', () => {
    timer = setTimeout(() => {
      first.destroy();
      second.destroy();
    }, HALF_CLOSED_MS);
  });
  first.on('close', (hadError) => {
    clearTimeout(timer);
    if (hadError) resetConnection(second);
    else if (!first.readableEnded) second.destroy();
    // Bytes from before an orderly end are still on their way.
    else second.destroySoon();
  });
}
