/** The counts of a plant's server, by client and by login. */
import type { IncomingMessage } from 'node:http';
import { cookieOf, type LoginDesk } from './login-desk.ts';
import { type Counts, sumOf, Tally } from './tally.ts';

export interface LoginCounts extends Counts {
  readonly userName: string | null;
}

interface Client {
  /** The cookie's value, or a generated key for a client without a login cookie. */
  readonly login: string;
  readonly userName: string | null;
  readonly tally: Tally;
  isThere: boolean;
}

/** Identity and login of a handshake. */
export interface Identity {
  readonly cookie: string | undefined;
  readonly userName: string | null;
}

export class Ledger {
  readonly #desk: LoginDesk;
  readonly #clients = new Map<string, Client>();
  #withoutCookie = 0;

  constructor(desk: LoginDesk) {
    this.#desk = desk;
  }

  /** Undefined when a handshake is to be refused: its cookie has no login, and nothing else identifies the user. */
  identify(request: IncomingMessage, ext: unknown): Identity | undefined {
    const cookie = cookieOf(request);
    const userName = this.#desk.userOf(cookie) ?? null;
    if (cookie !== undefined) return userName === null ? undefined : { cookie, userName };
    const [kind, credentials = ''] = (request.headers.authorization ?? '').split(' ');
    if (kind === 'Basic')
      return { cookie, userName: Buffer.from(credentials, 'base64').toString().split(':')[0] ?? null };
    const { user } = (ext as { authentication?: { user?: string } } | undefined)?.authentication ?? {};
    return user === undefined ? undefined : { cookie, userName: user };
  }

  begin(clientId: string, { cookie, userName }: Identity): void {
    if (cookie === undefined) this.#withoutCookie += 1;
    this.#clients.set(clientId, { login: cookie ?? `client ${clientId}`, userName, tally: new Tally(), isThere: true });
  }

  end(clientId: string): void {
    const client = this.#clients.get(clientId);
    if (client === undefined) return;
    client.isThere = false;
    client.tally.monitored.clear();
  }

  /** Throws for an unknown client. */
  tallyOf(clientId: string): Tally {
    const client = this.#clients.get(clientId);
    if (client === undefined) throw new Error(`no such client: ${clientId}`);
    return client.tally;
  }

  isThere(clientId: string | undefined): boolean {
    return clientId !== undefined && this.#clients.get(clientId)?.isThere === true;
  }

  /** Current clients of that cookie. */
  clientsOn(cookie: string): string[] {
    return [...this.#clients].filter(([, { login, isThere }]) => isThere && login === cookie).map(([id]) => id);
  }

  get clientsThere(): number {
    return [...this.#clients.values()].filter(({ isThere }) => isThere).length;
  }

  /** Sessions created so far, as the contract counts them. */
  get created(): number {
    return this.#desk.accepted + this.#withoutCookie;
  }

  get total(): Counts {
    return sumOf([...this.#clients.values()].map(({ tally }) => tally));
  }

  /** Logins with a current client, with the counts of all their clients, past ones included. */
  logins(): LoginCounts[] {
    const logins = new Map<string, Client[]>();
    for (const client of this.#clients.values())
      logins.set(client.login, [...(logins.get(client.login) ?? []), client]);
    const living = [...logins.values()].filter((clients) => clients.some(({ isThere }) => isThere));
    return living.map((clients) => ({
      userName: clients[0]?.userName ?? null,
      ...sumOf(clients.map(({ tally }) => tally)),
    }));
  }
}
