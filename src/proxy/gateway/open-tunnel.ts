import type { Socket } from 'node:net';
import { closeFrame, GOING_AWAY, maskedCloseFrame } from '../../protocol/websocket/close-frame.ts';
import { FrameCursor } from '../../protocol/websocket/frame-cursor.ts';
import { DirectionRate, type FrameRate } from '../../protocol/websocket/frame-rate.ts';

/** How long each side may take to answer a close frame; RFC 6455 §7.1.1 leaves it open. */
const CLOSE_LIMIT_MS = 2_000;

/** `closed`: both sides were told, in frames; `cut`: somebody was not, or did not answer. */
export type Farewell = 'closed' | 'cut';

/**
 * One WebSocket between its two ends, followed frame by frame so that it can be closed in order (RFC 6455 §7.1.2), which takes
 * frames of our own. They go only between two frames of the peer whose place we take, and nothing goes behind them (§5.5.1):
 *
 * 1. The upstream is told first, as if the client went away. From then on nothing of the client's is passed on.
 * 2. What the upstream still sends is passed on up to its own close frame: a message that it has taken for delivered is.
 * 3. In the place of that close frame the client gets ours, with 1001: clients come again after that one.
 * 4. When the client has answered, both connections end.
 *
 * A side that does not come to the end of a frame, or does not answer in time, is not waited for; what is no frames is cut.
 */
export class OpenTunnel {
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #closeLimitMs: number;
  readonly #fromClient = new FrameCursor('client');
  readonly #fromUpstream = new FrameCursor('upstream');
  readonly #frameRate: FrameRate;
  readonly #followClient: (bytes: Buffer) => void;
  readonly #followUpstream: (bytes: Buffer) => void;
  #isLeaving = false;
  #isUpstreamTold = false;
  #isClientTold = false;
  #timer: NodeJS.Timeout | undefined;
  #onOver: ((farewell: Farewell) => void) | undefined;

  /** To be made right behind the pipes, in the same turn of the event loop; see `observeTunnel`. */
  constructor(client: Socket, upstream: Socket, frameRate: FrameRate, closeLimitMs = CLOSE_LIMIT_MS) {
    this.#client = client;
    this.#upstream = upstream;
    this.#closeLimitMs = closeLimitMs;
    this.#frameRate = frameRate;
    this.#followClient = this.#follow(this.#fromClient);
    this.#followUpstream = this.#follow(this.#fromUpstream);
    client.on('data', this.#followClient);
    upstream.on('data', this.#followUpstream);
  }

  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  /** Follows one direction, unless so many frames pass that it would take the loop from the traffic. */
  #follow(cursor: FrameCursor): (bytes: Buffer) => void {
    const rate = new DirectionRate();
    return (bytes) => {
      if (cursor.isLost) return;
      const before = cursor.frames;
      cursor.follow(bytes);
      if (this.#frameRate.isTooFast(rate, cursor.frames - before)) cursor.lose();
    };
  }

  /** Closes it, once. `onOver` is told how, unless both ends close it themselves meanwhile. */
  goAway(onOver: (farewell: Farewell) => void): void {
    if (this.#isLeaving) return;
    this.#isLeaving = true;
    this.#onOver = onOver;
    this.#client.once('close', () => this.#over('cut'));
    this.#waitFor(() => this.#onUpstreamSilent());
    // They are closing it themselves.
    if (this.#fromClient.hasClosed || this.#fromUpstream.hasClosed) return;
    this.#takeOver();
    if (this.#fromClient.isBetweenFrames) this.#tellUpstream();
  }

  /** In the place of http-proxy's pipes: our own, which can stop at a frame's end. */
  #takeOver(): void {
    const [client, upstream] = [this.#client, this.#upstream];
    client.unpipe(upstream);
    upstream.unpipe(client);
    client.off('data', this.#followClient);
    upstream.off('data', this.#followUpstream);
    client.on('data', (bytes: Buffer) => this.#onClientBytes(bytes));
    upstream.on('data', (bytes: Buffer) => this.#onUpstreamBytes(bytes));
    client.on('end', () => this.#onClientEnded());
    upstream.on('end', () => this.#tellClient());
    client.on('drain', () => upstream.resume());
    upstream.on('drain', () => client.resume());
    client.resume();
    upstream.resume();
  }

  #onClientBytes(bytes: Buffer): void {
    if (this.#isUpstreamTold) {
      this.#fromClient.follow(bytes);
      if (this.#isClientTold && this.#fromClient.hasClosed) this.#endBoth('closed');
      return;
    }
    const end = this.#fromClient.advance(bytes, 0);
    if (!this.#upstream.write(bytes.subarray(0, end))) this.#client.pause();
    // It was its own close frame: there is no need for ours.
    if (this.#fromClient.hasClosed) this.#isUpstreamTold = true;
    else if (this.#fromClient.isBetweenFrames) this.#tellUpstream();
    this.#fromClient.follow(bytes.subarray(end));
  }

  #onUpstreamBytes(bytes: Buffer): void {
    if (this.#isClientTold) return;
    const end = this.#fromUpstream.advanceToClose(bytes);
    if (end > 0 && !this.#client.write(bytes.subarray(0, end))) this.#upstream.pause();
    if (end < bytes.length) this.#tellClient();
  }

  #tellUpstream(): void {
    this.#isUpstreamTold = true;
    this.#upstream.write(maskedCloseFrame(GOING_AWAY));
  }

  /** Between two frames of the upstream; anywhere else the client would read our frame as part of another. */
  #tellClient(): void {
    if (this.#isClientTold) return;
    if (!this.#fromUpstream.isBetweenFrames) {
      this.#endBoth('cut');
      return;
    }
    this.#isClientTold = true;
    this.#client.write(closeFrame(GOING_AWAY));
    if (this.#fromClient.hasClosed) this.#endBoth('closed');
    else this.#waitFor(() => this.#endBoth('cut'));
  }

  #onUpstreamSilent(): void {
    const areClosing = !this.#isUpstreamTold && (this.#fromClient.hasClosed || this.#fromUpstream.hasClosed);
    if (areClosing) this.#endBoth('cut');
    else this.#tellClient();
  }

  /** It may have ended without a word, or behind its close frame. */
  #onClientEnded(): void {
    this.#endBoth(this.#isClientTold && this.#fromClient.hasClosed ? 'closed' : 'cut');
  }

  #waitFor(onTooLong: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onTooLong, this.#closeLimitMs);
  }

  /** The server's side ends first (RFC 6455 §7.1.1), behind what is written. */
  #endBoth(farewell: Farewell): void {
    this.#over(farewell);
    this.#client.destroySoon();
    this.#upstream.destroySoon();
  }

  #over(farewell: Farewell): void {
    clearTimeout(this.#timer);
    this.#onOver?.(farewell);
    this.#onOver = undefined;
  }
}
