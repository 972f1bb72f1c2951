import type { CometRule } from '../../config/rules/comet-rules.ts';

/**
 * The default rules for Comet, tried after `comet.rules`. The server's channels are not public, so these are our
 * choice: each object has its own channel, or clients subscribe by messages to a service and all values arrive on one
 * channel.
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
