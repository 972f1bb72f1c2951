import type { BodyObserver, Exchange } from '../../proxy/exchange/exchange.ts';

/** Counts a body's payload, for an observer that may be there beside it. */
export class ByteCount implements BodyObserver {
  bytes = 0;
  readonly #observer: BodyObserver | undefined;

  constructor(observer: BodyObserver | undefined) {
    this.#observer = observer;
  }

  get isQuick(): boolean {
    return this.#observer === undefined;
  }

  onBytes(bytes: Buffer): void {
    this.bytes += bytes.length;
    this.#observer?.onBytes(bytes);
  }

  onEnd(): void {
    this.#observer?.onEnd();
  }
}

/** To be called when the exchange begins, behind whoever reads its bodies. */
export function countBytes(exchange: Exchange): void {
  exchange.requestObserver = new ByteCount(exchange.requestObserver);
  exchange.responseObserver = new ByteCount(undefined);
}

/** To be called when the head of its response has been read, behind whoever has asked for the body then. */
export function countBytesOfResponse(exchange: Exchange): void {
  const { responseObserver } = exchange;
  if (responseObserver instanceof ByteCount) return;
  exchange.responseObserver = new ByteCount(responseObserver);
}

/** What was counted; undefined where nobody did. */
export function bytesOf(observer: BodyObserver | undefined): number | undefined {
  return observer instanceof ByteCount ? observer.bytes : undefined;
}
