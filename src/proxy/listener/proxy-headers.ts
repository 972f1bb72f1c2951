import type { Socket } from 'node:net';
import { counter, type MetricDescription } from '../../base/metric-description.ts';
import type { LimitHits } from '../../limits/limit-hits.ts';
import { type ProxySource, readProxyHeader } from '../../protocol/proxy-header.ts';

/** Reads the PROXY header of connections from trusted proxies. A connection without a valid header is closed. */
export class ProxyHeaders {
  readonly #hits: LimitHits;
  readonly #reading = new Set<Socket>();
  readonly refused = { missing: 0, broken: 0, late: 0 };

  constructor(hits: LimitHits) {
    this.#hits = hits;
  }

  /** `onRead` gets the client that the header names, if any; the next byte of `socket` is the first after it. */
  read(socket: Socket, timeoutMs: number, onRead: (source: ProxySource | undefined) => void): void {
    let bytes: Buffer = Buffer.alloc(0);
    const refuse = (reason: keyof typeof this.refused) => {
      this.refused[reason] += 1;
      finish();
      socket.destroy();
    };
    const onReadable = () => {
      for (let piece = socket.read(); piece !== null; piece = socket.read()) bytes = Buffer.concat([bytes, piece]);
      if (bytes.length === 0) return;
      const header = readProxyHeader(bytes);
      if (header.kind === 'incomplete') return;
      if (header.kind !== 'read') {
        refuse(header.kind);
        return;
      }
      finish();
      if (bytes.length > header.bytes) socket.unshift(bytes.subarray(header.bytes));
      onRead(header.source);
    };
    const onEnd = () => {
      // Health checks of load balancers connect and close without sending anything.
      if (bytes.length === 0) socket.destroy();
      else refuse('broken');
    };
    const onError = () => undefined;
    const timer = setTimeout(() => {
      this.#hits.hit('timeouts.head');
      refuse('late');
    }, timeoutMs).unref();
    const finish = () => {
      clearTimeout(timer);
      this.#reading.delete(socket);
      socket.off('readable', onReadable).off('end', onEnd).off('error', onError).off('close', finish);
    };
    this.#reading.add(socket);
    socket.on('readable', onReadable).on('end', onEnd).on('error', onError).on('close', finish);
  }

  destroy(): void {
    for (const socket of this.#reading) socket.destroy();
  }
}

export const PROXY_HEADER_METRICS: readonly MetricDescription<ProxyHeaders>[] = [
  counter(
    'd2_sidecar_proxy_headers_refused_total',
    'Connections closed for a missing, broken or late PROXY header.',
    'refused',
    'reason',
  ),
];
