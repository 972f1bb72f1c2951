import type { Ending, Exchange, ResponseHeadView } from '../../../proxy/exchange/exchange.ts';

/** Reads one exchange of which more matters than its heads. What it throws ends the reading, not the exchange. */
export interface ExchangeReading {
  /** Never called for an answer of the sidecar's own. */
  onResponse(exchange: Exchange, response: ResponseHeadView): void;
  onEnd(exchange: Exchange, ending: Ending): void;
}
