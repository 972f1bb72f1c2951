/** A sidecar with limits that a test can reach, with and without TLS; raw clients from addresses of their choice. */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import type { Config } from '../../../src/config/config.ts';
import { untilTestEnds } from '../../support/deferred.ts';
import { playsAll } from '../../support/effort.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import { listenerTls } from '../../support/tls/ends.ts';
import { Peer, type Response } from '../../support/wire/peer.ts';
import { turns } from '../../support/wire/split-writer.ts';
import { atHeads, OK, type StandOptions, startStand } from '../../support/wire/stand.ts';
import { SWITCHING } from '../faults/fault-stand.ts';

export type Mode = (typeof ALL_MODES)[number];

const ALL_MODES = [
  { name: 'plain', isSecure: false },
  { name: 'TLS', isSecure: true },
] as const;
export const MODES = playsAll ? ALL_MODES : ALL_MODES.slice(0, 1);

export type { Response };
export { Peer as RawPeer };

/** An upstream that answers each request: `.../hold...` after `release`, an upgrade with 101, all else at once. */
class Upstream {
  readonly connections: net.Socket[] = [];
  received = '';
  lastAnswered: net.Socket | undefined;
  /** It does not leave when the client's side has ended. */
  staysHalfOpen = false;
  #held: (() => void)[] = [];

  readonly onConnection = (socket: net.Socket): void => {
    this.connections.push(socket);
    socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1');
    });
    atHeads(socket, (head) => this.#answer(socket, head));
    if (this.staysHalfOpen) socket.removeAllListeners('end');
  };

  get heldNow(): number {
    return this.#held.length;
  }

  async holding(count: number): Promise<void> {
    while (this.#held.length < count) await turns(1);
  }

  /** Answers the one that is held for the longest time. */
  release(): void {
    this.#held.shift()?.();
  }

  #answer(socket: net.Socket, head: string): void {
    const send = () => {
      this.lastAnswered = socket;
      socket.write(OK);
    };
    if (/^upgrade:/im.test(head)) socket.write(SWITCHING);
    else if (/^\w+ \S*\/hold/.test(head)) this.#held.push(send);
    else send();
  }
}

export type LimitStand = Awaited<ReturnType<typeof startLimitStand>>;

/** Closed when its test has ended. */
export async function startLimitStand(
  { isSecure }: Mode,
  config: (base: Config) => Partial<Config> = () => ({}),
  { onConnection, clock }: Pick<StandOptions, 'onConnection' | 'clock'> = {},
) {
  const certificates = new CertificateFolder();
  untilTestEnds(() => certificates.remove());
  const authority = isSecure ? certificates.authority() : undefined;
  const own = authority && listenerTls(certificates.signed(authority, { name: 'localhost' }));
  const upstream = new Upstream();
  const withTls = (base: Config) => {
    const listen = { ...base.listen, tls: own };
    return { listen, ...config({ ...base, listen }) };
  };
  const options = { onConnection: onConnection ?? upstream.onConnection, clock, config: withTls };
  const stand = await startStand(options, untilTestEnds);
  const sample = async (name: string) => (await stand.samples()).get(name);
  return {
    ...{ ...stand, upstream, sample },
    /** Resolves when the connection stands, with TLS when its handshake is over or has failed. `first` is sent before TLS. */
    connect: async (localAddress = '127.0.0.1', first = Buffer.alloc(0)) => {
      const socket = await connectFrom(localAddress, stand.port, first, authority);
      untilTestEnds(() => socket.destroy());
      return new Peer(socket);
    },
    hits: async (key: string) => (await sample(`d2_sidecar_limit_hits_total{limit="${key}"}`)) ?? -1,
    kept: async (kind: 'requests' | 'ahead' | 'stalled') =>
      (await sample(`d2_sidecar_kept_bytes{kind="${kind}"}`)) ?? -1,
  };
}

async function connectFrom(localAddress: string, port: number, first: Buffer, authority?: Pair): Promise<net.Socket> {
  const tcp = net.connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true });
  tcp.on('error', () => undefined);
  await once(tcp, 'connect');
  if (first.length > 0) tcp.write(first);
  if (authority === undefined) return tcp;
  const ca = textOf(authority.certFile);
  const socket = tls.connect({ socket: tcp, ca, host: '127.0.0.1', servername: 'localhost' });
  await new Promise<void>((resolve) => {
    socket.once('secureConnect', resolve);
    socket.once('error', () => resolve());
    socket.once('close', () => resolve());
  });
  return socket;
}

export function get(path: string, ...fields: readonly string[]): string {
  return `GET ${path} HTTP/1.1\r\nHost: plant.example\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
}

/** A POST of `body`, of which less may follow; or with other framing fields. */
export function post(path: string, body = '', ...fields: readonly string[]): string {
  const framing = fields.length === 0 ? [`Content-Length: ${body.length}`] : fields;
  return `${get(path, ...framing).replace('GET', 'POST')}${body}`;
}
