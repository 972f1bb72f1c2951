import type { Config } from './config.ts';
import { isLoopback } from './host-port.ts';

/**
 * What the log says of a sidecar that takes clients of other machines to an application server on loopback: what trusts loopback
 * there then trusts all of them. Undefined where that cannot be, or `rest.deny` shows that somebody has thought of it.
 */
export function findLoopbackTrust({ upstream, listen, rest }: Config): string | undefined {
  if (!isLoopback(upstream.host) || isLoopback(listen.host) || rest.deny.length > 0) return undefined;
  return (
    'the application server sees all clients come from loopback now: where it trusts loopback, as the manager of Tomcat does, it trusts ' +
    'everybody. List such paths in rest.deny, e.g. [/manager, /host-manager] (docs/tomcat.md)'
  );
}
