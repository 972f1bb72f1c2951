import type { RestRule } from '../../config/rules/rest-rules.ts';

/**
 * The default rules: every call of the REST interface, tried after `rest.rules`. The forms of an RPC differ in what
 * executes it (`java`, `japi`: a process) and in an interface between event and method, which is part of the name.
 */
export const DEFAULT_REST_RULES: readonly RestRule[] = [
  rpc('d2/rpc/{event}/{method}', '{event}.{method}'),
  rpc('d2/rpc/interface/{event}/{interface}/{method}', '{event}.{interface}.{method}'),
  rpc('d2/rpc/java/{event}/{method}', '{event}.{method}'),
  rpc('d2/rpc/java/interface/{event}/{interface}/{method}', '{event}.{interface}.{method}'),
  rpc('d2/rpc/japi/{process}/{method}', '{process}.{method}'),
  rpc('d2/rpc/japi/interface/{event}/{interface}/{method}', '{event}.{interface}.{method}'),
  { methods: ['GET', 'POST'], path: 'd2/sba/{event}/{method}', kind: 'sba', name: '{event}.{method}' },
  { methods: ['GET', 'POST'], path: 'd2/archive/{object}', kind: 'object', name: '{object}' },
  { methods: ['GET'], path: 'd2/object/{object}', kind: 'object', name: '{object}' },
  { methods: ['GET'], path: 'd2/auth/login', kind: 'session', name: 'login' },
  { methods: ['GET'], path: 'd2/auth/logout', kind: 'session', name: 'logout' },
];

function rpc(path: string, name: string): RestRule {
  return { methods: ['POST'], path, kind: 'rpc', name };
}
