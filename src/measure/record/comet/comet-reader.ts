/**
 * Reads Comet traffic: which exchanges are Comet's or a login form's, and what each of them is read with. What is read never
 * changes, delays or ends what passes; see exchange/ for the rules of observing.
 */

import { NS_PER_MS } from '../../../base/clock.ts';
import type { ReadingShare } from '../../../limits/reading-share.ts';
import type { Exchange } from '../../../proxy/exchange/exchange.ts';
import type { CometRoutes } from '../../classify/comet-route.ts';
import type { CometApplication, CometReading } from './comet-application.ts';
import type { CometClients, CometClientsParts } from './comet-clients.ts';
import { CometExchange } from './comet-exchange.ts';
import type { ExchangeReading } from './exchange-reading.ts';
import { FormLogin } from './form-login.ts';

export interface CometReaderParts {
  readonly routes: CometRoutes;
  readonly applications: ReadonlyMap<string, CometApplication>;
  readonly reading: ReadingShare;
  /** Field of the login form with the user's name. */
  readonly userField: string;
}

/** What becomes another when the configuration is read again. */
export interface CometReaderChanges extends Pick<CometReaderParts, 'routes' | 'userField'> {
  readonly reading: CometReading;
  readonly limits: CometClientsParts['config'];
}

const CATCH_UP_NS = 10 * NS_PER_MS;

export class CometReader {
  #parts: CometReaderParts;

  constructor(parts: CometReaderParts) {
    this.#parts = parts;
  }

  /** Begins to read an exchange, at its beginning; undefined for one that is none of Comet's. */
  begin(exchange: Exchange): ExchangeReading | undefined {
    const { routes, applications, userField } = this.#parts;
    const route = routes.find(exchange.request.method, exchange.request.target);
    const application = route && applications.get(route.application);
    if (route === undefined || application === undefined) return undefined;
    return route.kind === 'comet'
      ? new CometExchange(application, exchange)
      : new FormLogin(application, userField, exchange);
  }

  /** Reads otherwise from now on, WebSockets that are open included. Nothing that was counted or is monitored changes. */
  reconfigure({ routes, userField, reading, limits }: CometReaderChanges): void {
    this.#parts = { ...this.#parts, routes, userField };
    for (const application of this.#parts.applications.values()) {
      Object.assign(application, reading);
      application.clients.reconfigure(limits);
    }
  }

  /** The clients of an application, by its name. */
  clientsOf(application: string): CometClients | undefined {
    return this.#parts.applications.get(application)?.clients;
  }

  /** Reads what waits to be read, as far as that takes some milliseconds: somebody asks for numbers. */
  catchUp(): void {
    this.#parts.reading.catchUp(CATCH_UP_NS);
  }

  /** Reads what waits to be read: before the end. */
  finish(): void {
    this.#parts.reading.finish();
  }

  /** Ends what waits for too long. For a timer of seconds. */
  sweep(): void {
    for (const { clients } of this.#parts.applications.values()) clients.sweep();
  }
}
