/**
 * This folder reads Comet traffic. It must not know sockets. Reading must never change, delay or end the traffic; see
 * exchange/ for the rules of observing.
 */

import { NS_PER_MS } from '../../base/clock.ts';
import { ReadingShare } from '../../limits/reading-share.ts';
import { EvictableBodies } from '../../limits/unfinished-bodies.ts';
import { FrameRate } from '../../protocol/websocket/frame-rate.ts';
import type { Exchange, RequestHead } from '../../proxy/exchange/exchange.ts';
import { CometRoutes } from '../classify/comet-classifier.ts';
import type { RecordedApplication } from '../record/recorded-application.ts';
import { BayeuxClients } from './bayeux-clients.ts';
import {
  type CometApplication,
  type CometConfig,
  type CometServices,
  createReadingOptions,
} from './comet-application.ts';
import { CometExchange } from './comet-exchange.ts';
import { FormLogin } from './form-login.ts';

/** Frames read per second: following them takes a few percent of the event loop. Thousands of users send less. */
const FRAMES = { all: 10_000, ofOne: 2_000 };

/** Reads more of an exchange than its heads. An exception ends the reading, not the exchange. */
export type ExchangeReading = CometExchange | FormLogin;

const CATCH_UP_NS = 10 * NS_PER_MS;

export class CometReader {
  readonly #applications: ReadonlyMap<string, CometApplication>;
  readonly #reading: ReadingShare;
  #routes: CometRoutes;
  /** Name of the login form's field with the user name. */
  #userField: string;

  /** Throws `D2S_ERR_CONFIG` for an unusable rule in `comet.rules`. */
  constructor(config: CometConfig, applications: readonly RecordedApplication[], services: CometServices) {
    const { clock, observers, memory } = services;
    this.#routes = createRoutes(config);
    this.#userField = config.sessions.formLogin.userField;
    this.#reading = new ReadingShare({ clock, onFailure: (cause) => observers.onFailure(cause) });
    const shared = {
      ...services,
      ...createReadingOptions(config),
      reading: this.#reading,
      bodies: new EvictableBodies(memory),
      frameRate: new FrameRate(clock, FRAMES),
    };
    this.#applications = new Map(
      applications.map((application) => {
        const { name, sessions } = application;
        const clients = new BayeuxClients({ application, ...services, config });
        return [name, { ...shared, name, sessions, clients }];
      }),
    );
  }

  /** Starts to read an exchange when it begins; undefined if it is neither Comet nor a login form. */
  begin(exchange: Exchange, request: RequestHead): ExchangeReading | undefined {
    const route = this.#routes.find(request.method, request.target);
    const application = route && this.#applications.get(route.application);
    if (route === undefined || application === undefined) return undefined;
    return route.kind === 'comet'
      ? new CometExchange(application, exchange, request)
      : new FormLogin(application, this.#userField, exchange, request);
  }

  /** Prepares a reload; the returned function applies it, also to open WebSockets. Throws as the constructor. */
  prepareReload(config: CometConfig): () => void {
    const routes = createRoutes(config);
    const options = createReadingOptions(config);
    return () => {
      this.#routes = routes;
      this.#userField = config.sessions.formLogin.userField;
      for (const application of this.#applications.values()) {
        Object.assign(application, options);
        application.clients.reconfigure(config);
      }
    };
  }

  clientsOf(application: string): BayeuxClients | undefined {
    return this.#applications.get(application)?.clients;
  }

  /** Reads waiting traffic, for `CATCH_UP_NS` at most. Call it before numbers are read. */
  catchUp(): void {
    this.#reading.catchUp(CATCH_UP_NS);
  }

  finish(): void {
    this.#reading.finish();
  }

  /** Ends expired calls and clients. Call it from a timer of seconds. */
  sweep(): void {
    for (const { clients } of this.#applications.values()) clients.sweep(this.#reading.readUpToNs);
  }
}

function createRoutes({ applications, comet, sessions }: CometConfig): CometRoutes {
  return new CometRoutes(applications, comet.path, sessions.formLogin.path);
}
