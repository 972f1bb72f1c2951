/** A sidecar in this process with an upstream of raw sockets that a test scripts, and access to its metrics and logs. */
import type net from 'node:net';
import type { Clock } from '../../../src/base/clock.ts';
import type { Config } from '../../../src/config/config.ts';
import { type Defer, untilTestEnds } from '../../support/deferred.ts';
import type { Pair } from '../../support/tls/certificates.ts';
import { upstreamTls } from '../../support/tls/ends.ts';
import { RawUpstream, type Serve } from '../../support/wire/raw-upstream.ts';
import { atHeads, get, startStand } from '../../support/wire/stand.ts';
import { WEBSOCKET as HANDSHAKE } from '../wire/compose.ts';

export { atHeads };

export interface FaultOptions {
  /** Undefined: the port is closed. */
  readonly script?: Serve | undefined;
  /** The upstream should speak TLS. Without a certificate of its own it does not. */
  readonly secure?: { readonly authority: Pair; readonly own: Pair | undefined } | undefined;
  readonly config?: ((base: Config) => Partial<Config>) | undefined;
  readonly clock?: Clock;
}

export type FaultStand = Awaited<ReturnType<typeof startFaultStand>>;

export async function startFaultStand(options: FaultOptions, defer: Defer = untilTestEnds) {
  const { script, secure, config, clock } = options;
  const upstream = new RawUpstream(secure?.own);
  await upstream.comeUp(script);
  if (script === undefined) await upstream.goDown();
  const withTls = (base: Config) => {
    const own = { upstream: { ...base.upstream, tls: secure && upstreamTls(secure.authority) } };
    return { ...own, ...config?.({ ...base, ...own }) };
  };
  return await startStand({ upstream, clock, config: withTls }, defer);
}

export const GET = get('/smartWeb/x');
export const RPC_PATH = '/smartWeb/api/rest/v0/d2/rpc/E.Demo/Test';
export const RPC = `POST ${RPC_PATH} HTTP/1.1\r\nHost: plant.example\r\nContent-Length: 0\r\n\r\n`;
export const WEBSOCKET = get('/smartWeb/live', `${HANDSHAKE.join('\r\n')}\r\n`);

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';
export const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';

export const sound: Serve = (upstream) => atHeads(upstream, () => upstream.write(OK));

/** Resets the TCP connection, also below TLS. */
export function reset(upstream: net.Socket): void {
  const below = (upstream as net.Socket & { readonly _parent?: net.Socket })._parent ?? upstream;
  below.resetAndDestroy();
}
