/**
 * Whether a request is meant for this server. With DNS rebinding, another site's page makes its own host name resolve
 * to our address, and then reads our answers. The Host field reveals that name. Such a page cannot use an address,
 * localhost or a name that is not its own.
 */
import net from 'node:net';

export type HostVerdict = 'ours' | 'foreign' | 'unreadable';

export class HostCheck {
  readonly #names: ReadonlySet<string>;

  /** `names` are case-insensitive and have no ports; e.g. `['d2-sidecar.plant.example']`. */
  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', ...names.map(normalizeHost)]);
  }

  /**
   * `target` is the unparsed request target, `hosts` all Host fields. An absolute target wins over the field (RFC 9112
   * §3.2.2). A request without either (HTTP/1.0) is accepted: no browser sends it.
   */
  verdict(target: string, hosts: readonly string[]): HostVerdict {
    if (hosts.length > 1) return 'unreadable';
    const written = target.startsWith('/') ? hosts[0] : authorityOf(target);
    if (written === undefined) return 'ours';
    const host = hostOf(written);
    if (host === undefined) return 'unreadable';
    return net.isIP(host) !== 0 || this.#names.has(normalizeHost(host)) ? 'ours' : 'foreign';
  }
}

/** `http://plant:9280/a` to `plant:9280`. Any other form gives an empty string, which is no valid host. */
function authorityOf(target: string): string {
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1] ?? '';
}

/** `plant:9280` to `plant`, `[::1]:9280` to `::1`. */
function hostOf(authority: string): string | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::\d*)?$/.exec(authority);
  return match?.[1] ?? match?.[2];
}

/** Ignores letter case and the trailing dot of the DNS root. */
function normalizeHost(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}
