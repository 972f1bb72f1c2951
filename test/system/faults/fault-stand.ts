/** A sidecar in this process with an upstream of raw sockets that a test scripts, and access to its metrics and logs. */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import type { Clock } from '../../../src/base/clock.ts';
import type { Config } from '../../../src/config/config.ts';
import { type Defer, untilTestEnds } from '../../support/deferred.ts';
import { type Pair, textOf } from '../../support/tls/certificates.ts';
import { upstreamTls } from '../../support/tls/ends.ts';
import { atHeads, get, startStand } from '../../support/wire/stand.ts';
import { WEBSOCKET as HANDSHAKE } from '../wire/compose.ts';

export { atHeads };

export type FaultScript = (upstream: net.Socket, nth: number) => void;

export interface FaultOptions {
  readonly dataPath: Config['dataPath'];
  /** Undefined: the port is closed. */
  readonly script?: FaultScript | undefined;
  readonly secure?: { readonly authority: Pair; readonly own: Pair } | undefined;
  /** The upstream should speak TLS, but does not. */
  readonly isPlainDespiteTls?: boolean | undefined;
  readonly config?: ((base: Config) => Partial<Config>) | undefined;
  readonly clock?: Clock;
}

export type FaultStand = Awaited<ReturnType<typeof startFaultStand>>;

export async function startFaultStand(options: FaultOptions, defer: Defer = untilTestEnds) {
  const { dataPath, script, secure, config, clock } = options;
  const upstream = new FaultyUpstream(options);
  await upstream.comeUp(script);
  if (script === undefined) await upstream.goDown();
  const stand = await startStand({
    ...{ upstreamPort: upstream.port, clock },
    config: (base) => {
      const own = { dataPath, upstream: { ...base.upstream, tls: secure && upstreamTls(secure.authority) } };
      return { ...own, ...config?.({ ...base, ...own }) };
    },
  });
  defer(async () => {
    await upstream.goDown();
    await stand.close();
  });
  return { ...stand, upstream };
}

/** Listens on the port that the sidecar connects to, or not. */
export class FaultyUpstream {
  port = 0;
  readonly scripted: net.Socket[] = [];
  readonly #sockets = new Set<net.Socket>();
  readonly #own: Pair | undefined;
  #server: net.Server | undefined;

  constructor({ secure, isPlainDespiteTls }: FaultOptions) {
    this.#own = isPlainDespiteTls === true ? undefined : secure?.own;
  }

  /** Like the end of the process: no listener, and every connection is reset. */
  async goDown(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) await once(server.close(), 'close');
  }

  async comeUp(script?: FaultScript): Promise<void> {
    const options = { allowHalfOpen: true, noDelay: true };
    const own = this.#own && { cert: textOf(this.#own.certFile), key: textOf(this.#own.keyFile) };
    const server = own === undefined ? net.createServer(options) : tls.createServer({ ...options, ...own });
    server.on('connection', (socket: net.Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    });
    server.on(own === undefined ? 'connection' : 'secureConnection', (socket: net.Socket) => {
      socket.on('error', () => undefined);
      script?.(socket, this.scripted.push(socket));
    });
    await once(server.listen(this.port, '127.0.0.1'), 'listening');
    this.port = (server.address() as net.AddressInfo).port;
    this.#server = server;
  }
}

export const GET = get('/smartWeb/x');
export const RPC_PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';
export const RPC = `POST ${RPC_PATH} HTTP/1.1\r\nHost: plant.example\r\nContent-Length: 0\r\n\r\n`;
export const WEBSOCKET = get('/smartWeb/live', `${HANDSHAKE.join('\r\n')}\r\n`);

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';
export const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

export const sound: FaultScript = (upstream) => atHeads(upstream, () => upstream.write(OK));

/** Resets the TCP connection, also below TLS. */
export function reset(upstream: net.Socket): void {
  const below = (upstream as net.Socket & { readonly _parent?: net.Socket })._parent ?? upstream;
  below.resetAndDestroy();
}
