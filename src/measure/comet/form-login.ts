import { KeptBytes, type Unfinished } from '../../limits/unfinished-bodies.ts';
import { readParameters } from '../../protocol/bayeux/request-body.ts';
import type { Ending, Exchange, RequestHead, ResponseHeadView } from '../../proxy/exchange/exchange.ts';
import { sanitizeUserName } from '../sessions/credentials.ts';
import type { CometApplication } from './comet-application.ts';

/** A login form is a name and a password; larger forms are not read. */
const MAX_FORM_BYTES = 16_384;

/**
 * Keeps one login form until the server has answered, then overwrites it, after reading the name of an accepted user.
 * The session belongs to the cookie that identifies the login from then on.
 */
export class FormLogin implements Unfinished {
  readonly #application: CometApplication;
  readonly #userField: string;
  readonly #cookieToken: string | undefined;
  readonly #form: KeptBytes;
  #isWhole = false;
  #isGivenUp = false;
  #setCookieToken: string | undefined;

  constructor(application: CometApplication, userField: string, exchange: Exchange, request: RequestHead) {
    this.#application = application;
    this.#userField = userField;
    this.#form = new KeptBytes(MAX_FORM_BYTES, application.bodies, this, true);
    this.#cookieToken = application.credentials.cookieTokenOf(request, application.sessions);
    exchange.wantsResponse = true;
    exchange.requestObserver = {
      onBytes: (bytes) => this.#collect(bytes),
      onEnd: () => {
        this.#isWhole = true;
      },
    };
  }

  #collect(bytes: Buffer): void {
    if (this.#isGivenUp) return;
    const obstacle = this.#form.append(bytes);
    if (obstacle !== undefined) this.giveUp(obstacle);
  }

  giveUp(reason: 'body-too-large' | 'budget' = 'budget'): void {
    this.#isGivenUp = true;
    this.#form.release();
    this.#application.metrics.passedUnread(reason);
  }

  onResponse(_exchange: Exchange, response: ResponseHeadView): void {
    this.#setCookieToken = this.#application.credentials.setCookieTokenOf(response.fields('set-cookie'));
  }

  onEnd(exchange: Exchange, { kind }: Ending): void {
    const { status } = exchange;
    // Without a cookie no later request could be matched to this login.
    const key = this.#setCookieToken ?? this.#cookieToken;
    const isAccepted = kind === 'completed' && status >= 200 && status <= 399;
    try {
      if (isAccepted && key !== undefined) this.#loggedIn(exchange, key);
    } finally {
      this.#form.release();
    }
  }

  #loggedIn(exchange: Exchange, key: string): void {
    const { durationNs, endedNs } = exchange;
    const { sessions, clients } = this.#application;
    let userName: string | null = null;
    if (this.#isWhole && !this.#isGivenUp) {
      const [[user] = []] = readParameters(this.#form.view().toString('utf8'), [this.#userField]);
      // The name is a slice of the form's text, which holds the password; a copy does not keep that text in memory.
      if (user !== undefined && user !== '') userName = sanitizeUserName(Buffer.from(user, 'utf8').toString('utf8'));
    }
    const present = this.#presentSession(key, userName, endedNs);
    if (present !== undefined) {
      sessions.addToken(present, key);
      sessions.name(present, userName, 'verified');
      present.touch(endedNs);
      return;
    }
    const session = sessions.begin(key, key, {
      userName,
      connectionType: 'COMET_LONG_POLLING',
      remoteAddress: exchange.client.remoteAddress,
      atNs: endedNs,
      creationNs: durationNs,
    });
    if (session !== undefined) clients.login(session, true);
  }

  /** The cookie's session. It ends if it has another user's verified name: each login has its own session. */
  #presentSession(key: string, userName: string | null, atNs: number) {
    const { sessions } = this.#application;
    const present =
      (this.#cookieToken === undefined ? undefined : sessions.recognise(this.#cookieToken, atNs)) ??
      sessions.join(key, key, atNs);
    if (present === undefined || present.userName === null || userName === null) return present;
    if (present.userName === userName || !present.isVerified) return present;
    sessions.end(present);
    return undefined;
  }
}
