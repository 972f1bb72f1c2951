import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { toUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';
import { isDoubtfulEnd } from '../upstream/doubtful-end.ts';
import { PhaseTimer } from '../upstream/phase-timer.ts';
import type { GatewayOptions, UpstreamReachability } from './services.ts';

/** The failure of a request that ended before an `UpstreamWatch` existed. */
export function toFailure(cause: unknown): UpstreamFailure {
  return cause instanceof UpstreamFailure ? cause : new UpstreamFailure('D2S_ERR_UPSTREAM_TERMINATED', cause);
}

const SOUND = { kind: 'sound' } as const;

/** Tracks the progress of one upstream request, applies the time limits, and turns errors into failures. */
export class UpstreamWatch {
  readonly #upstream: ClientRequest;
  readonly #reachability: UpstreamReachability | undefined;
  #phase: 'connect' | 'handshake' | 'wait' | 'response' = 'connect';
  readonly #timer = new PhaseTimer();
  #response: IncomingMessage | undefined;
  /** How the connection ended, for a response whose end only the connection marks. */
  #end: { readonly kind: 'sound' | 'doubtful' } | { readonly kind: 'reset'; readonly cause: Error } = SOUND;
  #onEndKnown: (() => void) | undefined;

  constructor(upstream: ClientRequest, options: GatewayOptions) {
    this.#upstream = upstream;
    this.#reachability = options.reachability;
    upstream.on('socket', (socket) => {
      this.#watchEnd(socket);
      if (!socket.connecting) {
        this.#phase = 'wait';
        return;
      }
      this.#failAfter(options.connectTimeoutMs, 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT');
      const isSecure = socket instanceof TLSSocket;
      if (isSecure) {
        socket.once('connect', () => {
          this.#phase = 'handshake';
        });
      }
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        this.#timer.stop();
        this.#phase = 'wait';
        this.#reachability?.noteReachable();
      });
    });
    upstream.on('finish', () => {
      if (this.#phase === 'wait') this.#failAfter(options.responseTimeoutMs, 'D2S_ERR_UPSTREAM_TIMEOUT');
    });
    upstream.on('close', () => this.#timer.stop());
  }

  /** To be called at each interim response: the answer has begun, so `responseTimeoutMs` no longer applies. */
  onInterim(status: number): void {
    // 100 asks for the body, so the wait for the answer has not even begun.
    if (status !== 100) this.#timer.stop();
  }

  /** To be called when the head of the final response has arrived. */
  onResponse(response: IncomingMessage): void {
    this.#timer.stop();
    this.#phase = 'response';
    this.#response = response;
  }

  /** All of the response has arrived, though it may not have been read yet. A later error does not affect it. */
  get isComplete(): boolean {
    return this.#response?.complete === true;
  }

  /** To be called at the response's end. Reports the error that cut it off, or undefined; possibly later. */
  confirmEnd(onConfirmed: (cause: Error | undefined) => void): void {
    const confirm = () => onConfirmed(this.#end.kind === 'reset' ? this.#end.cause : undefined);
    if (this.#end.kind === 'doubtful') this.#onEndKnown = confirm;
    else confirm();
  }

  /** Converts `cause` to a failure by the current phase. To be called once, when it ends the request. */
  toFailure(cause: unknown): UpstreamFailure {
    const code = (cause as { code?: unknown } | undefined)?.code;
    if (code === 'HPE_HEADER_OVERFLOW') return new UpstreamFailure('D2S_ERR_UPSTREAM_HEAD_TOO_LARGE', cause);
    // Node's parser: the bytes are not HTTP. An early end is not a syntax error.
    if (typeof code === 'string' && code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE') {
      return new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL', cause);
    }
    const failure = toUpstreamFailure(cause, this.#phase);
    if (this.#phase === 'connect' || this.#phase === 'handshake') this.#reachability?.noteUnreachable(failure);
    return failure;
  }

  #watchEnd(socket: Socket): void {
    if (socket instanceof TLSSocket) return;
    const onEnd = () => {
      // A response with a framed end is complete; the connection's end says nothing about it.
      if (this.#response === undefined || this.#response.complete) return;
      const onKnown = (cause: Error | undefined) => {
        this.#end = cause === undefined ? SOUND : { kind: 'reset', cause };
        this.#onEndKnown?.();
      };
      if (isDoubtfulEnd(socket, onKnown)) this.#end = { kind: 'doubtful' };
    };
    socket.prependListener('end', onEnd);
    this.#upstream.on('close', () => socket.off('end', onEnd));
  }

  #failAfter(limitMs: number, code: 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT' | 'D2S_ERR_UPSTREAM_TIMEOUT'): void {
    this.#timer.stop();
    if (limitMs > 0) this.#timer.start(limitMs, () => this.#upstream.destroy(new UpstreamFailure(code)));
  }
}
