import type { BodyObserver, Exchange } from '../../proxy/exchange/exchange.ts';

/** Counts the payload bytes of a body and passes them on to the existing observer, if any. */
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

/** Call it when the exchange begins, after its body observers are set. */
export function countBytes(exchange: Exchange): void {
  exchange.requestObserver = new ByteCount(exchange.requestObserver);
  exchange.responseObserver = new ByteCount(undefined);
}

/** Call it when the response head has been read, after the response observer is set. */
export function countBytesOfResponse(exchange: Exchange): void {
  const { responseObserver } = exchange;
  if (responseObserver instanceof ByteCount) return;
  exchange.responseObserver = new ByteCount(responseObserver);
}

export function bytesOf(observer: BodyObserver | undefined): number | undefined {
  return observer instanceof ByteCount ? observer.bytes : undefined;
}
