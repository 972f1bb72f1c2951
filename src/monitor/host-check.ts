/**
 * Whether a request asks for this server. A page of another site can have its own name resolve to our address ("DNS rebinding")
 * and then read what we answer; the name is what gives it away. It cannot do so with an address, with localhost, or with
 * a name that is not its own.
 */
import net from 'node:net';

export type HostVerdict = 'ours' | 'foreign' | 'unreadable';

export class HostCheck {
  readonly #names: ReadonlySet<string>;

  /** `names` in any letter case, without ports; e.g. `['d2-sidecar.plant.example']`. */
  constructor(names: readonly string[]) {
    this.#names = new Set(['localhost', ...names.map(toName)]);
  }

  /**
   * `target` is the request's target as it came, `hosts` all of its Host fields. An absolute target wins over the field (RFC 9112 §3.2.2).
   * Without either (HTTP/1.0) there is no browser to be deceived.
   */
  verdict(target: string, hosts: readonly string[]): HostVerdict {
    if (hosts.length > 1) return 'unreadable';
    const written = target.startsWith('/') ? hosts[0] : authorityOf(target);
    if (written === undefined) return 'ours';
    const host = hostOf(written);
    if (host === undefined) return 'unreadable';
    return net.isIP(host) !== 0 || this.#names.has(toName(host)) ? 'ours' : 'foreign';
  }
}

/** `http://plant:9280/a` to `plant:9280`; empty, which is no host, for what is no absolute form. */
function authorityOf(target: string): string {
  return /^https?:\/\/([^/?#]*)/i.exec(target)?.[1] ?? '';
}

/** `plant:9280` to `plant`, `[::1]:9280` to `::1`. */
function hostOf(authority: string): string | undefined {
  const match = /^(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::\d*)?$/.exec(authority);
  return match?.[1] ?? match?.[2];
}

/** A name with the dot of the root at its end is the same name. */
function toName(host: string): string {
  return host.toLowerCase().replace(/\.$/, '');
}
