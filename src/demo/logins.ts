/** The form login of the sample control system: the right password gets a cookie, a wrong one 403. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { SAMPLE_BROWSERS } from './plant.ts';

/** Below the application, as in the servlet specification. */
export const LOGIN_PATH = 'j_security_check';

export class SampleLogins {
  readonly #users = new Map<string, string>();
  readonly #application: string;

  constructor(application: string) {
    this.#application = application;
  }

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
