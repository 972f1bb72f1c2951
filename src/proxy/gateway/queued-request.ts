import type { ClientRequest } from 'node:http';

/**
 * One request in a connection's queue. Node hands over pipelined requests as soon as it has read them. Here each one
 * waits until the one before it has ended, so that one upstream connection is enough and responses cannot change order.
 */
export interface QueuedRequest {
  /** Starts this request. Call it when no earlier one is in progress on either side. */
  begin(): void;
  /** Ends the request: the client has left, or the request is malformed. */
  cancel(): void;
  /** The client has closed its sending side, and everything that it sent has been read. */
  onClientEnded(): void;
  /** The end of the request's body has not arrived yet. */
  readonly isReceiving: boolean;
  /** The request does not wait for the client, so the client may be silent for any time. */
  readonly canBeSilent: boolean;
  /** Bytes of the body that arrived before `begin`. */
  readonly bodyBytes: number;
  /** Part of the final response may be on its way to the client. */
  readonly hasAnswered: boolean;
  readonly upstream?: ClientRequest | undefined;
}

/** For a request that is never sent to the upstream. */
export const UNSENT_REQUEST = {
  onClientEnded: () => undefined,
  isReceiving: false,
  canBeSilent: true,
  bodyBytes: 0,
  hasAnswered: false,
};
