import type { ClientRequest } from 'node:http';

/**
 * What happens to one request of a connection. Node hands over pipelined requests as soon as it has read them; here each
 * waits for its turn, so that one connection to the upstream is enough and responses cannot change places.
 */
export interface Turn {
  /** It is this request's turn: nothing of an earlier one is under way on either side. */
  begin(): void;
  /** The client has gone, or its request has turned out to be broken: ends whatever has begun. */
  cancel(): void;
  /** The client has closed its sending side, with everything that it sent already read. */
  onClientEnded(): void;
  /** The request's body has not come to its end yet. */
  readonly isReceiving: boolean;
  /** It is not the client that this waits for: its silence, however long, says nothing. */
  readonly isHeld: boolean;
  /** Bytes of its body that have come before its turn. */
  readonly bodyBytes: number;
  /** Something of the final response may be on its way to the client. */
  readonly hasAnswered: boolean;
  /** What it sends to, if anything. */
  readonly upstream?: ClientRequest | undefined;
}
