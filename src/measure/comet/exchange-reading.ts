import type { Ending, Exchange, ResponseHeadView } from '../../proxy/exchange/exchange.ts';

/** Reads more of an exchange than its heads. An exception ends the reading, not the exchange. */
export interface ExchangeReading {
  /** Not called for the sidecar's own answers. */
  onResponse(exchange: Exchange, response: ResponseHeadView): void;
  onEnd(exchange: Exchange, ending: Ending): void;
}
