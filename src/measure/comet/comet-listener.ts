import type { BayeuxMessage } from '../../protocol/bayeux/message.ts';

/** Receives the Comet messages that are read, after they were processed; see `d2-sidecar learn`. Must not keep them. */
export interface CometListener {
  /** `client`: the same object for all messages of one client; undefined if the client is unknown. */
  onClientMessage(message: BayeuxMessage, client: object | undefined): void;
  onUpstreamMessage(message: BayeuxMessage, client: object | undefined): void;
  onFailure(): void;
}

/** Wraps a listener so that its exceptions do not reach the reader. */
export function shielded(listener: CometListener): CometListener {
  const attempt = (notify: () => void): void => {
    try {
      notify();
    } catch {
      // Counted but not shown: the text of an exception may quote the message.
      listener.onFailure();
    }
  };
  return {
    onClientMessage: (message, client) => attempt(() => listener.onClientMessage(message, client)),
    onUpstreamMessage: (message, client) => attempt(() => listener.onUpstreamMessage(message, client)),
    onFailure: () => listener.onFailure(),
  };
}
