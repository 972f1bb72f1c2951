import type { CometRule } from '../../config/config.ts';

/**
 * What Comet messages mean by default. The server's channels are not public, so these are ours; a site whose server has
 * others lists them in `comet.rules`. Those are tried first, and the first match counts.
 *
 * Either objects are channels of their own, or they are subscribed by messages to a service and come on one channel.
 */
export const DEFAULT_COMET_RULES: readonly CometRule[] = [
  { channel: '/d2/object/{name}', kind: 'object', action: 'subscribe', name: '{name}' },
  { channel: '/d2/object/{name}', kind: 'object', action: 'unsubscribe', name: '{name}' },
  { channel: '/d2/object/{name}', kind: 'object', action: 'value', name: '{name}' },
  objectService('/service/d2/subscribeObject', 'subscribe'),
  objectService('/service/d2/unSubscribeObject', 'unsubscribe'),
  { channel: '/service/d2/object', kind: 'object', action: 'value', name: '{/objectName}' },
  callService('/service/d2/rpc', 'rpc'),
  callService('/service/d2/rpcJava', 'rpc'),
  callService('/service/d2/rpcSBA', 'sba'),
];

function objectService(channel: string, action: 'subscribe' | 'unsubscribe'): CometRule {
  return { channel, when: 'publish', kind: 'object', action, name: '{/objectName}' };
}

function callService(channel: string, kind: 'rpc' | 'sba'): CometRule {
  return { channel, kind, action: 'call', name: '{/eventName}[.{/interfaceName}].{/rpcName}' };
}
