import type {
  BodyObserver,
  Ending,
  Exchange,
  ExchangeObserver,
  RequestHead,
  ResponseHeadView,
} from '../../../src/proxy/exchange/exchange.ts';
import { BodySeen } from './message-reader.ts';

/**
 * One letter each: beginning, bytes (q) and end (Q) of the request, head, bytes (r) and end (R) of the response, end; in a tunnel bytes
 * of the client and the upstream, and its closing (x). Bytes in a row are one.
 */
type Moment = 'b' | 'q' | 'Q' | 'h' | 'r' | 'R' | 'e' | 'c' | 'u' | 'x';

export class ExchangeSeen {
  readonly exchange: Exchange;
  readonly target: string;
  /** E.g. `bqQhrRe`. */
  order = '';
  readonly request = new BodySeen();
  readonly response = new BodySeen();
  readonly fromClient = new BodySeen();
  readonly fromUpstream = new BodySeen();
  head: ResponseHeadView | undefined;
  ending: Ending | undefined;

  constructor(exchange: Exchange, target: string) {
    this.exchange = exchange;
    this.target = target;
  }

  note(moment: Moment): void {
    if (!'qrcu'.includes(moment) || !this.order.endsWith(moment)) this.order += moment;
  }
}

/** Observes all of every exchange. */
export class RecordingObserver implements ExchangeObserver {
  #seen: ExchangeSeen[] = [];
  readonly #seenOf = new WeakMap<Exchange, ExchangeSeen>();

  takeAll(): readonly ExchangeSeen[] {
    const all = this.#seen;
    this.#seen = [];
    return all;
  }

  onBegin(exchange: Exchange, request: RequestHead): void {
    const seen = new ExchangeSeen(exchange, request.target);
    this.#seen.push(seen);
    this.#seenOf.set(exchange, seen);
    exchange.wantsResponse = true;
    exchange.requestObserver = this.#reader(exchange, seen.request, 'q', 'Q');
    this.#note(exchange, 'b');
  }

  onResponse(exchange: Exchange, response: ResponseHeadView): void {
    const seen = this.#find(exchange);
    seen.head = response;
    if (response.status === 101) {
      exchange.tunnelObserver = {
        onClientBytes: (bytes) => this.#onBytes(exchange, seen.fromClient, 'c', bytes),
        onUpstreamBytes: (bytes) => this.#onBytes(exchange, seen.fromUpstream, 'u', bytes),
        onClosed: () => this.#note(exchange, 'x'),
      };
    } else exchange.responseObserver = this.#reader(exchange, seen.response, 'r', 'R');
    this.#note(exchange, 'h');
  }

  onEnd(exchange: Exchange, ending: Ending): void {
    this.#find(exchange).ending = ending;
    this.#note(exchange, 'e');
  }

  #find(exchange: Exchange): ExchangeSeen {
    return this.#seenOf.get(exchange) as ExchangeSeen;
  }

  #reader(exchange: Exchange, body: BodySeen, onBytes: Moment, onEnd: Moment): BodyObserver {
    return {
      onBytes: (bytes) => this.#onBytes(exchange, body, onBytes, bytes),
      onEnd: () => this.#note(exchange, onEnd),
    };
  }

  #onBytes(exchange: Exchange, body: BodySeen, moment: Moment, bytes: Buffer): void {
    // An empty piece would be a moment of its own in `order`, and none is ever given.
    if (bytes.length === 0) this.#find(exchange).order += '?';
    body.add(bytes);
    this.#note(exchange, moment);
  }

  #note(exchange: Exchange, moment: Moment): void {
    this.#find(exchange).note(moment);
  }
}
