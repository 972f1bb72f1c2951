import { readParameters } from '../../bayeux/parameters.ts';
import type { Ending, Exchange, ResponseHeadView } from '../../exchange/exchange.ts';
import { toShownName } from '../../sessions/credentials.ts';
import { BodyCollector } from './body-collector.ts';
import type { CometApplication } from './comet-application.ts';
import type { ExchangeReading } from './exchange-reading.ts';

/** A login form is a name and a password; more than that is not read. */
const MAX_FORM_BYTES = 16_384;

/**
 * A login form on its way. Of its body the user's name is kept, and no longer than until the server has answered; the session
 * is that of the cookie that stands for the login from then on.
 */
export class FormLogin implements ExchangeReading {
  readonly #application: CometApplication;
  readonly #cookieToken: string | undefined;
  #setCookieToken: string | undefined;
  #userName: string | null = null;

  constructor(application: CometApplication, userField: string, exchange: Exchange) {
    this.#application = application;
    this.#cookieToken = application.credentials.cookieTokenOf(exchange.request);
    exchange.wantsResponse = true;
    exchange.requestObserver = new BodyCollector(MAX_FORM_BYTES, (body) => {
      if (body === undefined) {
        application.metrics.passedUnread('body-too-large');
        return;
      }
      const [[user] = []] = readParameters(body.toString('utf8'), [userField]);
      // The name and the password share the body's memory: a copy lets go of it.
      if (user !== undefined && user !== '') this.#userName = toShownName(Buffer.from(user, 'utf8').toString('utf8'));
      body.fill(0);
    });
  }

  onResponse(_exchange: Exchange, response: ResponseHeadView): void {
    this.#setCookieToken = this.#application.credentials.setCookieTokenOf(response.fields('set-cookie'));
  }

  onEnd(exchange: Exchange, { kind }: Ending): void {
    const { status, beganNs, endedNs } = exchange;
    // Without a cookie nothing would ever be found to belong to this login.
    const key = this.#setCookieToken ?? this.#cookieToken;
    if (kind !== 'completed' || status < 200 || status > 399 || key === undefined) return;
    const { sessions, clients } = this.#application;
    const present = this.#presentSession(key, endedNs);
    if (present !== undefined) {
      sessions.addToken(present, key);
      present.nameUser(this.#userName);
      present.touch(endedNs);
      return;
    }
    const session = sessions.begin(key, key, {
      userName: this.#userName,
      connectionType: 'COMET_LONG_POLLING',
      remoteAddress: exchange.client.remoteAddress,
      atNs: endedNs,
      creationNs: endedNs - beganNs,
    });
    if (session !== undefined) clients.login(session, true);
  }

  /** The session that the cookie has already, unless somebody else logs in on it: each login has a session of its own. */
  #presentSession(key: string, atNs: number) {
    const { sessions } = this.#application;
    const present =
      (this.#cookieToken === undefined ? undefined : sessions.recognise(this.#cookieToken, atNs)) ??
      sessions.join(key, key, atNs);
    if (present === undefined || present.userName === null || this.#userName === null) return present;
    if (present.userName === this.#userName) return present;
    sessions.end(present);
    return undefined;
  }
}
