/** What the harness tells its upstream; each is answered by a message with its number. */
export type UpstreamOrder =
  /** Close the port, open it again. */
  | { readonly kind: 'refuse' }
  | { readonly kind: 'accept' }
  /** Reset every new connection, or no more. */
  | { readonly kind: 'reset-new'; readonly isOn: boolean }
  | { readonly kind: 'reset-all' }
  /** Which connections are open, by the ids of their last calls. */
  | { readonly kind: 'list' };

export type UpstreamCommand = UpstreamOrder & { readonly number: number };

export interface UpstreamReply {
  /** 0: the port is open. */
  readonly number: number;
  readonly result?: unknown;
}
