import type { BayeuxMessage } from '../../../protocol/bayeux/message.ts';

/** Hears the Comet messages that are read, after they have been; see `d2-sidecar learn`. Must not keep them. */
export interface CometListener {
  /** `client`: the same object for all messages of one client; undefined where nothing tells whose it is. */
  onClientMessage(message: BayeuxMessage, client: object | undefined): void;
  onUpstreamMessage(message: BayeuxMessage, client: object | undefined): void;
  /** A call of one of the others has thrown. */
  onFailure(): void;
}

/** A listener whose exceptions go no further: the reading does not notice them. */
export function guarded(listener: CometListener): CometListener {
  const attempt = (hear: () => void): void => {
    try {
      hear();
    } catch {
      // Counted and never shown: the text of an exception may quote the message.
      listener.onFailure();
    }
  };
  return {
    onClientMessage: (message, client) => attempt(() => listener.onClientMessage(message, client)),
    onUpstreamMessage: (message, client) => attempt(() => listener.onUpstreamMessage(message, client)),
    onFailure: () => listener.onFailure(),
  };
}
