import type { ClientRequest } from 'node:http';
import { TLSSocket } from 'node:tls';
import { toUpstreamFailure, UpstreamFailure } from '../exchange/upstream-failure.ts';

export interface UpstreamLimits {
  /** From dialling to a standing connection. */
  readonly connectTimeoutMs: number;
  /** From the end of the request to the first byte of the response; 0: none, so that long polls may be held. */
  readonly responseTimeoutMs: number;
}

/** How far one upstream request has come, and the time limits on it; its errors as failures. */
export class UpstreamWatch {
  readonly #upstream: ClientRequest;
  #phase: 'connect' | 'handshake' | 'wait' | 'response' = 'connect';
  #timer: NodeJS.Timeout | undefined;

  constructor(upstream: ClientRequest, limits: UpstreamLimits) {
    this.#upstream = upstream;
    upstream.once('socket', (socket) => {
      if (!socket.connecting) {
        this.#phase = 'wait';
        return;
      }
      this.#failAfter(limits.connectTimeoutMs, 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT');
      const isSecure = socket instanceof TLSSocket;
      if (isSecure) {
        socket.once('connect', () => {
          this.#phase = 'handshake';
        });
      }
      socket.once(isSecure ? 'secureConnect' : 'connect', () => {
        this.#stopTimer();
        this.#phase = 'wait';
      });
    });
    upstream.once('finish', () => {
      if (this.#phase === 'wait') this.#failAfter(limits.responseTimeoutMs, 'D2S_ERR_UPSTREAM_TIMEOUT');
    });
    upstream.once('close', () => this.#stopTimer());
  }

  /** To be called at each interim response: the first byte of an answer has come, and the wait may last. */
  onInterim(status: number): void {
    // 100 asks for the body, so the wait for the answer has not even begun.
    if (status !== 100) this.#stopTimer();
  }

  /** To be called when the final response's head has come. */
  onResponse(): void {
    this.#stopTimer();
    this.#phase = 'response';
  }

  toFailure(cause: unknown): UpstreamFailure {
    const code = (cause as { code?: unknown } | undefined)?.code;
    if (code === 'HPE_HEADER_OVERFLOW') return new UpstreamFailure('D2S_ERR_UPSTREAM_HEAD_TOO_LARGE', cause);
    // Node's parser: what came is not HTTP. An early end is not a matter of syntax.
    if (typeof code === 'string' && code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE') {
      return new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL', cause);
    }
    return toUpstreamFailure(cause, this.#phase);
  }

  #failAfter(limitMs: number, code: 'D2S_ERR_UPSTREAM_CONNECT_TIMEOUT' | 'D2S_ERR_UPSTREAM_TIMEOUT'): void {
    this.#stopTimer();
    if (limitMs <= 0) return;
    this.#timer = setTimeout(() => this.#upstream.destroy(new UpstreamFailure(code)), limitMs);
  }

  #stopTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
