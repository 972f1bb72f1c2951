import type { ExchangeObserver } from '../../../src/proxy/exchange/exchange.ts';
import type { Defer } from '../deferred.ts';
import { turns } from './split-writer.ts';
import { type StandOptions, startStand } from './stand.ts';

export type ObservedStand = Awaited<ReturnType<typeof startObserved>>;

/** A stand whose exchanges are told to an observer of the test instead of the recorder. */
export async function startObserved(options: StandOptions, observer: ExchangeObserver, defer?: Defer) {
  const stand = await startStand(options, defer);
  const { recorder, dispatcher } = stand.sidecar;
  Object.assign(recorder, {
    onBegin: observer.onBegin.bind(observer),
    onResponse: observer.onResponse?.bind(observer),
    onEnd: observer.onEnd.bind(observer),
    onAdded: observer.onAdded?.bind(observer),
  });
  /** Waits until no connection is open: then every exchange and tunnel has ended. */
  const allClosed = async () => {
    while (dispatcher.openConnections > 0) await turns(1);
    // The upstream's end of a tunnel may close a moment later.
    await turns(3);
  };
  return { ...stand, allClosed };
}
