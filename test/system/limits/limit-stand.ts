/** A sidecar with limits that a test can reach, both data paths, with and without TLS; raw clients from addresses of their choice. */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import type { Config } from '../../../src/config/config.ts';
import { playsAll } from '../../support/effort.ts';
import { samplesOf as toSamples } from '../../support/monitor/prometheus/samples.ts';
import { CertificateFolder, type Pair, textOf } from '../../support/tls/certificates.ts';
import { listenerTls } from '../../support/tls/secure-stand.ts';
import { Peer, type Response } from '../../support/wire/peer.ts';
import { type Stand, startStand } from '../wire/stand.ts';

export interface Mode {
  readonly name: string;
  readonly dataPath: Config['dataPath'];
  readonly isSecure: boolean;
}

const ALL_MODES: readonly Mode[] = [
  { name: 'relay', dataPath: 'auto', isSecure: false },
  { name: 'gateway', dataPath: 'gateway', isSecure: false },
  { name: 'relay, TLS', dataPath: 'auto', isSecure: true },
  { name: 'gateway, TLS', dataPath: 'gateway', isSecure: true },
];
/** All, or both data paths without TLS. */
export const MODES = playsAll ? ALL_MODES : ALL_MODES.slice(0, 2);

export type { Response };
export { Peer as RawPeer };

/** What an upstream has been sent on one connection. `hold` keeps answers back until `release`. */
export class Upstream {
  readonly connections: net.Socket[] = [];
  received = '';
  lastAnswered: net.Socket | undefined;
  /** It does not leave when the client's side has ended. */
  staysHalfOpen = false;
  #held: (() => void)[] = [];
  #arrived: (() => void) | undefined;

  /** Answers each request: `/hold...`, also in absolute form, when it is released, an upgrade with 101, everything else at once. */
  readonly onConnection = (socket: net.Socket): void => {
    this.connections.push(socket);
    let text = '';
    socket.on('data', (bytes: Buffer) => {
      this.received += bytes.toString('latin1');
      text += bytes.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, end);
        text = text.slice(end + 4 + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0));
        this.#answer(socket, head);
      }
    });
    socket.on('end', () => {
      if (!this.staysHalfOpen) socket.end();
    });
  };

  get heldNow(): number {
    return this.#held.length;
  }

  /** Until that many requests are held. */
  async holding(count: number): Promise<void> {
    while (this.#held.length < count) {
      await new Promise<void>((resolve) => {
        this.#arrived = resolve;
      });
    }
  }

  /** Answers the one that is held for the longest time. */
  release(): void {
    this.#held.shift()?.();
  }

  #answer(socket: net.Socket, head: string): void {
    if (/^upgrade:/im.test(head)) {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      return;
    }
    const send = () => {
      this.lastAnswered = socket;
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok');
    };
    if (!/^\w+ (?:http:\/\/a)?\/hold/.test(head)) {
      send();
      return;
    }
    this.#held.push(send);
    this.#arrived?.();
  }
}

export interface LimitStand {
  readonly stand: Stand;
  readonly upstream: Upstream;
  /**
   * From `localAddress`, default 127.0.0.1. Resolves when the TCP connection stands, with TLS when its handshake is over or has failed.
   * `first` is sent before TLS.
   */
  connect(localAddress?: string, first?: Buffer): Promise<Peer>;
  /** `d2_sidecar_limit_hits_total` by key, as /metrics has it. */
  hits(key: string): Promise<number>;
  /** Bytes that are kept of requests, or for writes that are stalled. */
  kept(kind: 'requests' | 'ahead' | 'stalled'): Promise<number>;
  /** Any sample, by its name and labels as written. */
  sample(name: string): Promise<number | undefined>;
  close(): Promise<void>;
}

/** One for a file of tests: making keys takes time. */
export class LimitStands {
  readonly #certificates = new CertificateFolder();
  #authority: Pair | undefined;
  #pair: Pair | undefined;
  readonly #open: LimitStand[] = [];

  async start(
    { dataPath, isSecure }: Mode,
    config: (base: Config) => Partial<Config>,
    onConnection?: (socket: net.Socket) => void,
  ): Promise<LimitStand> {
    const [authority, pair] = isSecure ? this.#pairs() : [];
    const upstream = new Upstream();
    const stand = await startStand({
      onConnection: onConnection ?? upstream.onConnection,
      config: (base) => {
        const listen = { ...base.listen, tls: pair === undefined ? undefined : listenerTls(pair) };
        return { listen, dataPath, ...config({ ...base, listen }) };
      },
    });
    const peers: Peer[] = [];
    const sample = async (name: string) => (await samplesOf(stand.monitorPort)).get(name);
    const limitStand: LimitStand = {
      stand,
      upstream,
      connect: async (localAddress = '127.0.0.1', first = Buffer.alloc(0)) => {
        const peer = new Peer(await connectFrom(localAddress, stand.port, first, authority));
        peers.push(peer);
        return peer;
      },
      hits: async (key) => (await sample(`d2_sidecar_limit_hits_total{limit="${key}"}`)) ?? -1,
      kept: async (kind) => (await sample(`d2_sidecar_kept_bytes{kind="${kind}"}`)) ?? -1,
      sample,
      close: async () => {
        for (const { socket } of peers) socket.destroy();
        await stand.close();
      },
    };
    this.#open.push(limitStand);
    return limitStand;
  }

  #pairs(): readonly [Pair, Pair] {
    this.#authority ??= this.#certificates.authority();
    this.#pair ??= this.#certificates.signed(this.#authority, { name: 'localhost' });
    return [this.#authority, this.#pair];
  }

  /** Ends all stands. */
  async closeAll(): Promise<void> {
    for (const one of this.#open.splice(0)) await one.close();
  }

  remove(): void {
    this.#certificates.remove();
  }
}

async function connectFrom(localAddress: string, port: number, first: Buffer, authority?: Pair): Promise<net.Socket> {
  const tcp = net.connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true });
  tcp.on('error', () => undefined);
  await once(tcp, 'connect');
  if (first.length > 0) tcp.write(first);
  if (authority === undefined) return tcp;
  const socket = tls.connect({
    socket: tcp,
    ca: textOf(authority.certFile),
    host: '127.0.0.1',
    servername: 'localhost',
  });
  await new Promise<void>((resolve) => {
    socket.once('secureConnect', resolve);
    socket.once('error', () => resolve());
    socket.once('close', () => resolve());
  });
  return socket;
}

/** All of /metrics, by name and labels as written. */
export async function samplesOf(port: number): Promise<ReadonlyMap<string, number>> {
  return toSamples(await (await fetch(`http://127.0.0.1:${port}/metrics`)).text());
}

export function get(path: string, ...fields: readonly string[]): string {
  return `GET ${path} HTTP/1.1\r\nHost: plant.example\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n`;
}
