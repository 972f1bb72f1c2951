import type { Socket } from 'node:net';
import { QueuedWrites, type WritesOwner } from '../../limits/stalled-writes.ts';
import { closeFrame, GOING_AWAY, maskedCloseFrame } from '../../protocol/websocket/close-frame.ts';
import { FrameCursor } from '../../protocol/websocket/frame-cursor.ts';
import { DirectionRate, type FrameRate } from '../../protocol/websocket/frame-rate.ts';
import { resetConnection } from '../../tls/connection-end.ts';
import type { TrafficServices } from '../upstream/traffic-services.ts';
import { PAUSED_BYTES } from './tunnel.ts';

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
    this.#waitFor(() => this.#onUpstreamSilent());
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
    upstream.on('data', (bytes: Buffer) => this.#onUpstreamBytes(bytes));
    client.on('end', () => this.#onClientEnded());
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

  #onUpstreamBytes(bytes: Buffer): void {
    if (this.#isClientClosed) return;
    const end = this.#fromUpstream.advanceToClose(bytes);
    if (end > 0 && !this.#client.write(bytes.subarray(0, end))) this.#upstream.pause();
    this.#toClient.wrote();
    if (end < bytes.length) this.#closeClient();
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

  #onUpstreamSilent(): void {
    const areClosing = !this.#isUpstreamClosed && (this.#fromClient.hasClosed || this.#fromUpstream.hasClosed);
    if (areClosing) this.#endBoth('cut');
    else this.#closeClient();
  }

  /** The client may close its side without a close frame, or after one. */
  #onClientEnded(): void {
    this.#endBoth(this.#isClientClosed && this.#fromClient.hasClosed ? 'closed' : 'cut');
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
