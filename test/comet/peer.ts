/** A Comet client as the scenario drives it. Every peer counts by itself what it gets. */
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
  /** How often it has shaken hands. */
  readonly handshakes: number;
  /** How often a connect was answered since it last shook hands. */
  readonly connects: number;
  connect(): Promise<void>;
  /** False when the server refuses. */
  monitor(object: string, manner: MonitorManner): Promise<boolean>;
  unmonitor(object: string): Promise<void>;
  /** Calls, which go out together where the client can do that. */
  call(...calls: readonly PlantCall[]): Promise<void>;
  /** Cuts what the client waits on; it comes back by itself, with the same `clientId`. Resolves when it is back. */
  breakConnection(): Promise<void>;
  /** Resolves when it has shaken hands anew and monitors again what it monitored. */
  recovered(handshakesBefore: number): Promise<void>;
  /** Orderly. */
  disconnect(): Promise<void>;
  /** Gone from one moment to the next, without a word. */
  kill(): void;
}

export function cookieFieldOf({ cookies }: Browser): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
}

/** Keeps the cookies that a response sets; their attributes do not matter here. */
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
