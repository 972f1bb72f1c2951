import type { Config } from './config.ts';
import { isLoopback } from './host-port.ts';

/**
 * A warning if clients of other machines reach an application server on loopback: anything there that trusts loopback
 * then trusts all of them. Undefined if that is impossible, or if `rest.deny` shows that the operator is aware of it.
 */
export function findLoopbackTrust({ upstream, listen, rest }: Config): string | undefined {
  if (!isLoopback(upstream.host) || isLoopback(listen.host) || rest.deny.length > 0) return undefined;
  return (
    'the application server sees all clients come from loopback now: where it trusts loopback, as the manager of Tomcat does, it trusts ' +
    'everybody. List such paths in rest.deny, e.g. [/manager, /host-manager] (docs/tomcat.md)'
  );
}
