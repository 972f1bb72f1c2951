/** The application server's form login with cookie sessions, and its logout. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

const APPLICATION_PATH = '/smartWeb';
export const COMET_PATH = `${APPLICATION_PATH}/api/cometd`;
const COOKIE = 'JSESSIONID';
export const LOGIN_PATH = `${APPLICATION_PATH}/j_security_check`;
export const LOGOUT_PATH = `${APPLICATION_PATH}/api/rest/v0/d2/auth/logout`;
export const RIGHT_PASSWORD = 'right & proper';

export class LoginDesk {
  readonly #users = new Map<string, string>();
  readonly #onLogout: (cookie: string) => void;
  #accepted = 0;

  constructor(onLogout: (cookie: string) => void) {
    this.#onLogout = onLogout;
  }

  /** Whether a handshake is accepted: by the login of its cookie, or without a cookie by Basic or `ext`. */
  accepts(request: IncomingMessage, ext: unknown): boolean {
    const cookie = cookieOf(request);
    if (cookie !== undefined) return this.#users.has(cookie);
    const { user } = (ext as { authentication?: { user?: string } } | undefined)?.authentication ?? {};
    return user !== undefined || request.headers.authorization?.startsWith('Basic ') === true;
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0];
    const cookie = cookieOf(request);
    const body = await text(request);
    if (path === LOGIN_PATH) {
      this.#login(new URLSearchParams(body), cookie, response);
    } else if (path === LOGOUT_PATH) {
      if (cookie !== undefined && this.#users.delete(cookie)) this.#onLogout(cookie);
      response.end('{}');
    } else {
      if (cookie === undefined) response.setHeader('Set-Cookie', toSetCookie(newCookie()));
      response.end('<form>');
    }
  }

  /** Servers differ: every second login keeps its cookie, the others get a new one, as Tomcat does it. */
  #login(form: URLSearchParams, cookie: string | undefined, response: ServerResponse): void {
    const user = form.get('j_username');
    if (user === null || form.get('j_password') !== RIGHT_PASSWORD) {
      response.writeHead(403).end();
      return;
    }
    this.#accepted += 1;
    const isKept = cookie !== undefined && this.#accepted % 2 === 0;
    const session = isKept ? cookie : newCookie();
    this.#users.set(session, user);
    if (!isKept) response.setHeader('Set-Cookie', [toSetCookie(session), 'lang=sk; Path=/']);
    response.writeHead(303, { Location: `${APPLICATION_PATH}/` }).end();
  }
}

export function cookieOf({ headers }: IncomingMessage): string | undefined {
  return /(?:^|; *)JSESSIONID=([^;]*)/.exec(headers.cookie ?? '')?.[1];
}

function newCookie(): string {
  return `${randomBytes(16).toString('hex').toUpperCase()}.node1`;
}

function toSetCookie(value: string): string {
  return `${COOKIE}=${value}; Path=${APPLICATION_PATH}; HttpOnly`;
}
