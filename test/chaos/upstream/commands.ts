/** Commands of the harness to its upstream; each is answered by a message with its number. */
export type UpstreamOrder =
  /** Close the port, open it again. */
  | { readonly kind: 'refuse' }
  | { readonly kind: 'accept' }
  /** Start or stop resetting every new connection. */
  | { readonly kind: 'reset-new'; readonly isOn: boolean }
  | { readonly kind: 'reset-all' }
  /** Lists open connections, by the ids of their last calls. */
  | { readonly kind: 'list' };

export type UpstreamCommand = UpstreamOrder & { readonly number: number };

export interface UpstreamReply {
  /** 0: the port is open. */
  readonly number: number;
  readonly result?: unknown;
}
