/** The browser window that `cometd` expects, in which each tab has its own cookies and can be cut off. */
import { adapt } from 'cometd-nodejs-client';
import { WebSocket } from 'ws';

export interface TabConnections {
  fields(): Record<string, string>;
  keepCookies(setCookies: readonly string[]): void;
  readonly requests: Set<{ readonly isConnect: boolean; abort(): void }>;
  readonly sockets: Set<WebSocket>;
}

interface Window {
  XMLHttpRequest: new () => XhrLike;
  WebSocket: unknown;
}

interface XhrLike {
  context: TabConnections;
  onload?: () => void;
  onerror?: (cause: unknown) => void;
  send(body: string): void;
  abort(): void;
}

let opening: TabConnections | undefined;

/** Runs `send`; sockets that it opens belong to the tab. */
export function sendingFrom<T>(tab: TabConnections, send: () => T): T {
  opening = tab;
  try {
    return send();
  } finally {
    opening = undefined;
  }
}

/** Must be called once, before `cometd` creates its first client. */
export function openWindow(): void {
  const tabs = new WeakMap<object, TabConnections>();
  adapt({
    cookies: {
      // Called first, with the tab; the same URL object comes back when the response sets cookies.
      retrieveCookies: (tab: TabConnections, url: object, callback) => {
        tabs.set(url, tab);
        for (const [name, value] of Object.entries(tab.fields())) {
          if (name !== 'Cookie') Object.assign((url as { headers: object }).headers, { [name]: value });
        }
        callback(null, [tab.fields().Cookie ?? []].flat());
      },
      storeCookie: (url: object, setCookie, callback) => {
        tabs.get(url)?.keepCookies([setCookie]);
        callback(null, undefined);
      },
    },
  });
  const window = (globalThis as unknown as { window: Window }).window;
  const Adapted = window.XMLHttpRequest;
  window.XMLHttpRequest = class extends Adapted {
    override send(body: string): void {
      const { requests } = this.context;
      const request = { isConnect: body.includes('"/meta/connect"'), abort: () => this.abort() };
      requests.add(request);
      const { onload, onerror } = this;
      this.onload = () => {
        requests.delete(request);
        onload?.();
      };
      // Both `abort` and `error` report a failure; the transport would take the second for another request's.
      this.onerror = (cause) => {
        if (requests.delete(request)) onerror?.(cause);
      };
      super.send(body);
    }
  };
  window.WebSocket = class extends WebSocket {
    constructor(url: string) {
      if (opening === undefined) throw new Error('a socket without a tab');
      const { sockets, fields } = opening;
      super(url, { perMessageDeflate: { threshold: 0 }, headers: fields() });
      sockets.add(this);
      this.on('close', () => sockets.delete(this));
    }
  };
}
