/** A Comet client as the scenario drives it. Every peer counts what it receives. */
import type { PlantCall } from './plant-call.ts';
import type { Tally } from './tally.ts';

/** How an object is monitored: by a subscription to its channel, or by a message to the service. */
export type MonitorManner = 'channel' | 'service';

/** A browser with its cookies and the user in front of it; its tabs are peers. */
export interface Browser {
  readonly userName: string;
  /** Cookies by name; the tabs read and write them. */
  readonly cookies: Map<string, string>;
  /** Fields of every request, e.g. `Authorization`. */
  readonly fields: Readonly<Record<string, string>>;
  /** The handshake's `ext`. */
  readonly ext: object | undefined;
}

export interface Peer {
  readonly browser: Browser;
  readonly tally: Tally;
  readonly clientId: string | undefined;
  /** Number of handshakes. */
  readonly handshakes: number;
  /** Answered connects since the last handshake. */
  readonly connects: number;
  connect(): Promise<void>;
  /** False when the server refuses. */
  monitor(object: string, manner: MonitorManner): Promise<boolean>;
  unmonitor(object: string): Promise<void>;
  /** Calls, in one batch where the client can do that. */
  call(...calls: readonly PlantCall[]): Promise<void>;
  /** Cuts the client's connection; it reconnects with the same `clientId`. Resolves when it is back. */
  breakConnection(): Promise<void>;
  /** Resolves after a new handshake, once its subscriptions are back. */
  recovered(handshakesBefore: number): Promise<void>;
  /** Disconnects in order. */
  disconnect(): Promise<void>;
  /** Vanishes without a disconnect. */
  kill(): void;
}

export function cookieFieldOf({ cookies }: Browser): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

/** Keeps the cookies of a response; their attributes do not matter here. */
export function keepCookies({ cookies }: Browser, setCookies: readonly string[]): void {
  for (const setCookie of setCookies) {
    const [, name = '', value = ''] = /^([^=;]*)=([^;]*)/.exec(setCookie) ?? [];
    cookies.set(name, value);
  }
}

/** All fields that the browser sends with every request. */
export function fieldsOf(browser: Browser): Record<string, string> {
  const cookie = cookieFieldOf(browser);
  return { ...browser.fields, ...(cookie === '' ? {} : { Cookie: cookie }) };
}
