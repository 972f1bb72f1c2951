import { once } from 'node:events';
import net from 'node:net';
import type { Config } from '../../../src/config/config.ts';
import type { Ending, Exchange, ExchangeObserver, RequestHead } from '../../../src/proxy/exchange/exchange.ts';
import { startObserved } from '../wire/observed-stand.ts';
import { Peer } from '../wire/peer.ts';
import { turns } from '../wire/split-writer.ts';
import { Tap, type TappedConnection } from './tap.ts';

/** A client that has sent all, and has no complete answer by then, closes its sending side. */
const PATIENCE_MS = 1_500;
/** Then it leaves after this time. */
const LIMIT_MS = 6_000;

export interface CountedExchange {
  readonly method: string;
  readonly target: string;
  /** The request's body as measured; latin1. */
  body: string;
  status: number;
  ending: Ending['kind'] | 'none';
}

export interface Played {
  /** What the client received; latin1. */
  readonly received: string;
  readonly exchanges: readonly CountedExchange[];
  readonly upstream: readonly TappedConnection[];
  /** The sidecar did not close a connection that its client had half-closed. */
  readonly isHung: boolean;
  /** The sidecar closed before the client had closed its sending side. */
  readonly isEndedFirst: boolean;
}

export type Setting = Pick<Config, 'forwarded'>;

export const SETTINGS: readonly Setting[] = [{ forwarded: 'append' }, { forwarded: 'replace' }];

/** A sidecar with one client at a time and a real server behind a tap, so that bytes can be attributed with certainty. */
export async function startSmugglingStand(server: net.NetConnectOpts, { forwarded }: Setting) {
  const tap = await Tap.listen(server);
  const observer = new Counting();
  const stand = await startObserved({ upstreamPort: tap.port, config: () => ({ forwarded }) }, observer);
  /** Sends `pieces` on a new connection, optionally half-closes after them, and waits until everything has ended. */
  const play = async (pieces: readonly Buffer[], isHalfClosed: boolean): Promise<Played> => {
    const conversed = await converse(stand.port, pieces, isHalfClosed);
    await stand.allClosed();
    return { ...conversed, exchanges: observer.takeAll(), upstream: await tap.takeAll() };
  };
  const close = async () => {
    await stand.close();
    tap.close();
  };
  return { play, close };
}

async function converse(port: number, pieces: readonly Buffer[], isHalfClosed: boolean) {
  const peer = new Peer(net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true }));
  const { socket } = peer;
  let isHung = false;
  const limit = setTimeout(() => {
    isHung = true;
    socket.destroy();
  }, LIMIT_MS);
  const ended = peer.ended().then(() => {
    const isEndedFirst = !socket.writableEnded;
    socket.destroy();
    return isEndedFirst;
  });
  await once(socket, 'connect');
  for (const [index, piece] of pieces.entries()) {
    if (index > 0) await turns(2);
    socket.write(piece);
  }
  if (isHalfClosed) peer.finish();
  const patience = setTimeout(() => peer.finish(), PATIENCE_MS);
  const isEndedFirst = await ended;
  clearTimeout(patience);
  clearTimeout(limit);
  return { received: peer.received, isHung, isEndedFirst };
}

class Counting implements ExchangeObserver {
  #counted: CountedExchange[] = [];
  readonly #running = new Map<Exchange, CountedExchange>();

  takeAll(): readonly CountedExchange[] {
    const taken = this.#counted;
    this.#counted = [];
    return taken;
  }

  onBegin(exchange: Exchange, { method, target }: RequestHead): void {
    const counted: CountedExchange = { method, target, body: '', status: 0, ending: 'none' };
    this.#counted.push(counted);
    this.#running.set(exchange, counted);
    const onBytes = (bytes: Buffer) => {
      counted.body += bytes.toString('latin1');
    };
    exchange.requestObserver = { onBytes, onEnd: () => undefined };
  }

  onEnd(exchange: Exchange, { kind: ending }: Ending): void {
    Object.assign(this.#running.get(exchange) as CountedExchange, { status: exchange.status, ending });
    this.#running.delete(exchange);
  }
}
