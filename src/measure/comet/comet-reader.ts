/**
 * This folder reads Comet traffic. `CometReader` decides which exchanges belong to Comet or are login forms, and what
 * reads each of them. It must not know sockets. Reading must never change, delay or end the traffic; see exchange/ for
 * the rules of observing.
 */

import { NS_PER_MS } from '../../base/clock.ts';
import type { ReadingShare } from '../../limits/reading-share.ts';
import type { Exchange, RequestHead } from '../../proxy/exchange/exchange.ts';
import type { CometRoutes } from '../classify/comet-route.ts';
import type { CometApplication, CometReadingOptions } from './comet-application.ts';
import type { CometClients, CometClientsParts } from './comet-clients.ts';
import { CometExchange } from './comet-exchange.ts';
import type { ExchangeReading } from './exchange-reading.ts';
import { FormLogin } from './form-login.ts';

export interface CometReaderParts {
  readonly routes: CometRoutes;
  readonly applications: ReadonlyMap<string, CometApplication>;
  readonly reading: ReadingShare;
  /** Name of the login form's field with the user name. */
  readonly userField: string;
}

export interface CometReaderChanges extends Pick<CometReaderParts, 'routes' | 'userField'> {
  readonly reading: CometReadingOptions;
  readonly limits: CometClientsParts['config'];
}

const CATCH_UP_NS = 10 * NS_PER_MS;

export class CometReader {
  #parts: CometReaderParts;

  constructor(parts: CometReaderParts) {
    this.#parts = parts;
  }

  /** Starts to read an exchange when it begins; undefined if it is neither Comet nor a login form. */
  begin(exchange: Exchange, request: RequestHead): ExchangeReading | undefined {
    const { routes, applications, userField } = this.#parts;
    const route = routes.find(request.method, request.target);
    const application = route && applications.get(route.application);
    if (route === undefined || application === undefined) return undefined;
    return route.kind === 'comet'
      ? new CometExchange(application, exchange, request)
      : new FormLogin(application, userField, exchange, request);
  }

  /** Applies a reload, also to open WebSockets. Existing counts and monitorings stay. */
  reconfigure({ routes, userField, reading, limits }: CometReaderChanges): void {
    this.#parts = { ...this.#parts, routes, userField };
    for (const application of this.#parts.applications.values()) {
      Object.assign(application, reading);
      application.clients.reconfigure(limits);
    }
  }

  clientsOf(application: string): CometClients | undefined {
    return this.#parts.applications.get(application)?.clients;
  }

  /** Reads waiting traffic, for `CATCH_UP_NS` at most. Call it before numbers are read. */
  catchUp(): void {
    this.#parts.reading.catchUp(CATCH_UP_NS);
  }

  finish(): void {
    this.#parts.reading.finish();
  }

  /** Ends expired calls and clients. Call it from a timer of seconds. */
  sweep(): void {
    const { readUpToNs } = this.#parts.reading;
    for (const { clients } of this.#parts.applications.values()) clients.sweep(readUpToNs);
  }
}
