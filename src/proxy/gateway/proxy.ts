/**
 * The only file that loads http-proxy 1.18.1 (no release since 2020). It removes harmful parts before the first use.
 */
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Stream } from 'node:stream';
import util from 'node:util';
import type HttpProxy from 'http-proxy';

export type ProxyServer = HttpProxy;

export interface ProxyTarget {
  readonly host: string;
  readonly port: number;
}

export interface ProxyCall {
  readonly agent: unknown;
  readonly headBytes: number;
}

// http-proxy reads util._extend while it loads; Node 22 and later print DEP0060 when it is called. So it gets
// Object.assign.
async function loadHttpProxy(): Promise<typeof HttpProxy> {
  const deprecated = Object.getOwnPropertyDescriptor(util, '_extend');
  if (deprecated === undefined) return (await import('http-proxy')).default;
  Object.defineProperty(util, '_extend', { ...plainValue(deprecated), value: Object.assign });
  try {
    return (await import('http-proxy')).default;
  } finally {
    Object.defineProperty(util, '_extend', deprecated);
  }
}

function plainValue(descriptor: PropertyDescriptor): PropertyDescriptor {
  return { configurable: true, enumerable: descriptor.enumerable === true, writable: true };
}

const LoadedProxy = await loadHttpProxy();

type Pass = (...parameters: readonly unknown[]) => unknown;

export function createProxy(target: ProxyTarget): ProxyServer {
  const proxy = new LoadedProxy({
    target: { ...target, protocol: 'http:' },
    // The gateway sets the path: http-proxy collapses `//` in it. With these options it neither parses nor joins one.
    toProxy: true,
    prependPath: false,
    ignorePath: true,
    // The gateway writes the response: http-proxy merges duplicate fields, loses trailers and misses a broken upstream.
    selfHandleResponse: true,
  });
  const passes = proxy as unknown as { webPasses: Pass[] };
  // This pass gives a chunked DELETE or OPTIONS the length 0; its body would become the next request: smuggling
  // (#1721).
  passes.webPasses = passes.webPasses.filter((pass) => pass.name !== 'deleteLength');
  // The gateway listens itself: http-proxy's callback does not distinguish the client's errors from the upstream's.
  proxy.on('error', () => undefined);
  return proxy;
}

/** Sends an ordinary request. Calls `onUpstreamRequest` before it returns and before anything is written. */
export function callWeb(
  proxy: ProxyServer,
  request: IncomingMessage,
  response: Parameters<ProxyServer['web']>[1],
  call: ProxyCall,
  onUpstreamRequest: (upstream: ClientRequest) => void,
): void {
  // http-proxy copies these; the first `expect` among them would fix the head, which the gateway sets from rawHeaders.
  request.headers = {};
  const { agent, ssl } = toOptions(call);
  // Not by spreading: V8 makes a hidden class for each object that is copied and then extended, here one for each call,
  // in the old heap (`npm run bench -- --workload gateway`).
  proxy.web(request, response, { agent, ssl, buffer: pipeHook(onUpstreamRequest) }, () => undefined);
}

/** Sends a WebSocket request; `onUpstreamRequest` as above. */
export function callWebSocket(
  proxy: ProxyServer,
  request: IncomingMessage,
  socket: Socket,
  leftover: Buffer,
  call: ProxyCall,
  onUpstreamRequest: (upstream: ClientRequest) => void,
): void {
  // http-proxy checks for this value and destroys the socket otherwise.
  request.headers = { upgrade: 'websocket' };
  proxy.once('proxyReqWs', onUpstreamRequest);
  try {
    proxy.ws(request, socket, leftover, toOptions(call), () => undefined);
  } finally {
    // http-proxy emits the event within that call or not at all; a listener left over would catch the next request.
    proxy.removeListener('proxyReqWs', onUpstreamRequest as () => void);
  }
}

function toOptions({ agent, headBytes }: ProxyCall): { agent: unknown; ssl: object } {
  // http-proxy starts http.request's options from its `ssl` option; there is no other way to pass unknown ones.
  return { agent, ssl: { maxHeaderSize: headBytes, setHost: false, insecureHTTPParser: false } };
}

/**
 * http-proxy pipes its option `buffer`, instead of the request, into the upstream request as soon as that exists. This
 * is the only moment at which the gateway can reliably take over head and body: the event `proxyReq` may be emitted
 * after the head has been written, and with Expect not at all.
 */
function pipeHook(onUpstreamRequest: (upstream: ClientRequest) => void): Stream {
  return { pipe: onUpstreamRequest } as unknown as Stream;
}
