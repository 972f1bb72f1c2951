/** A Bayeux message as the demo uses it. The channels are those of the built-in rules (docs/comet.md). */
export interface CometMessage {
  readonly channel: string;
  readonly id?: string | undefined;
  readonly clientId?: string | undefined;
  readonly subscription?: string | undefined;
  readonly data?: unknown;
  readonly successful?: boolean;
  readonly error?: string;
  readonly connectionType?: string;
  readonly advice?: { readonly reconnect: string; readonly interval: number; readonly timeout: number };
}

/** Below the application. */
export const COMET_PATH = 'api/cometd';

/** Where values of an object arrive, e.g. `/d2/object/H.Tank.Level`. */
export function encodeObjectChannel(name: string): string {
  return `/d2/object/${encodeURIComponent(name)}`;
}

export interface CometCall {
  readonly eventName: string;
  readonly interfaceName?: string;
  readonly rpcName: string;
}

export const CALL_CHANNELS = {
  rpc: '/service/d2/rpc',
  java: '/service/d2/rpcJava',
  sba: '/service/d2/rpcSBA',
} as const;
