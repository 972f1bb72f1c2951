/** The only file that loads http-proxy 1.18.1, which carries WebSocket handshakes and then pipes the two sockets. */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import util from 'node:util';
import type HttpProxy from 'http-proxy';

export type ProxyServer = HttpProxy;

/** Sets path and fields as they came. Called before anything is sent. */
type Prepare = (upstream: ClientRequest) => void;

// http-proxy reads util._extend while it loads; Node 22 and later print DEP0060 when it is called. So it gets
// Object.assign.
async function loadHttpProxy(): Promise<typeof HttpProxy> {
  const deprecated = Object.getOwnPropertyDescriptor(util, '_extend');
  if (deprecated === undefined) return (await import('http-proxy')).default;
  const { enumerable = false } = deprecated;
  Object.defineProperty(util, '_extend', { configurable: true, enumerable, writable: true, value: Object.assign });
  try {
    return (await import('http-proxy')).default;
  } finally {
    Object.defineProperty(util, '_extend', deprecated);
  }
}

const LoadedProxy = await loadHttpProxy();

export function createProxy(): ProxyServer {
  const proxy = new LoadedProxy({
    // Not dialled: the agent has the connection.
    target: { host: 'upstream', port: 80, protocol: 'http:' },
    // `prepare` sets the path: http-proxy collapses `//` in it. With these options it neither parses nor joins one.
    toProxy: true,
    prependPath: false,
    ignorePath: true,
  });
  // The handshake listens itself: http-proxy's callback does not distinguish the client's errors from the upstream's.
  proxy.on('error', () => undefined);
  proxy.on('proxyReqWs', (upstream, request) => (request as unknown as { prepare: Prepare }).prepare(upstream));
  return proxy;
}

export function callWebSocket(
  proxy: ProxyServer,
  prepare: Prepare,
  socket: Socket,
  { agent, headBytes }: { readonly agent: unknown; readonly headBytes: number },
): void {
  // http-proxy starts http.request's options from its `ssl` option; there is no other way to pass unknown ones.
  const options = { agent, ssl: { maxHeaderSize: headBytes, setHost: false, insecureHTTPParser: false } };
  // The client's request, as http-proxy needs it.
  const request = { method: 'GET', url: '/', headers: { upgrade: 'websocket' }, prepare };
  proxy.ws(request as unknown as IncomingMessage, socket, NOTHING, options, () => undefined);
}

/** What the client sends ahead is read on, so that its leaving is seen (`ReadAhead`). */
const NOTHING = Buffer.alloc(0);
