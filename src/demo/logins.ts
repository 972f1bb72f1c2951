/** The form login of the sample control system: a browser gets a cookie for the right password, and 403 for a wrong one. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { SAMPLE_BROWSERS } from './plant.ts';

/** Below the application, as the servlet specification has it. */
export const LOGIN_PATH = 'j_security_check';

export class SampleLogins {
  /** Users by the value of their cookie. */
  readonly #users = new Map<string, string>();
  readonly #application: string;

  constructor(application: string) {
    this.#application = application;
  }

  /** Who is logged in on the request's cookie. */
  userOf({ headers }: IncomingMessage): string | undefined {
    return this.#users.get(/(?:^|; *)JSESSIONID=([^;]*)/.exec(headers.cookie ?? '')?.[1] ?? '');
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    const user = form.get('j_username');
    if (!SAMPLE_BROWSERS.some((one) => one.user === user && one.password === form.get('j_password'))) {
      response.writeHead(403).end();
      return;
    }
    const cookie = randomBytes(16).toString('hex').toUpperCase();
    this.#users.set(cookie, user as string);
    const path = `/${this.#application}`;
    response.writeHead(303, {
      'set-cookie': `JSESSIONID=${cookie}; Path=${path}; HttpOnly`,
      'content-length': 0,
      location: `${path}/`,
    });
    response.end();
  }
}
