/** A sidecar in this process with an upstream of raw sockets that a test scripts, and access to its metrics and logs. */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { type Clock, systemClock } from '../../../src/base/clock.ts';
import type { Logger } from '../../../src/base/logger.ts';
import type { Config } from '../../../src/config/config.ts';
import { Sidecar } from '../../../src/sidecar/sidecar.ts';
import { samplesOf } from '../../support/monitor/prometheus/samples.ts';
import { listening, portOf } from '../../support/net.ts';
import { type Pair, textOf } from '../../support/tls/certificates.ts';
import { Peer } from '../../support/wire/peer.ts';
import { testConfig } from '../../support/wire/test-config.ts';

/** Scripts the `nth` connection of the upstream, counted from 1. */
export type FaultScript = (upstream: net.Socket, nth: number) => void;

export interface FaultOptions {
  readonly dataPath: Config['dataPath'];
  /** Undefined: the port is closed. */
  readonly script?: FaultScript | undefined;
  /** Authority and certificate of an upstream that speaks TLS. */
  readonly secure?: { readonly authority: Pair; readonly own: Pair } | undefined;
  /** The upstream should speak TLS, but does not. */
  readonly isPlainDespiteTls?: boolean | undefined;
  readonly config?: ((base: Config) => Partial<Config>) | undefined;
  readonly clock?: Clock;
}

export interface LoggedLine {
  readonly level: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

interface Dropwizard {
  readonly timers: Readonly<Record<string, { readonly count: number }>>;
  readonly meters: Readonly<Record<string, { readonly count: number }>>;
}

export class FaultHarness {
  readonly sidecar: Sidecar;
  readonly logged: readonly LoggedLine[];
  readonly port: number;
  readonly monitorPort: number;
  readonly upstream: FaultyUpstream;
  readonly #clients: Peer[] = [];

  private constructor(
    sidecar: Sidecar,
    bound: { readonly listen: string; readonly monitor: string },
    logged: readonly LoggedLine[],
    upstream: FaultyUpstream,
  ) {
    this.sidecar = sidecar;
    this.logged = logged;
    this.port = portOf(bound.listen);
    this.monitorPort = portOf(bound.monitor);
    this.upstream = upstream;
  }

  static async start(options: FaultOptions): Promise<FaultHarness> {
    const upstream = await FaultyUpstream.start(options);
    const base = testConfig({ dataPath: options.dataPath });
    const { authority } = options.secure ?? {};
    const withUpstream: Config = {
      ...base,
      upstream: {
        ...base.upstream,
        port: upstream.port,
        ...(authority && {
          tls: {
            ...{ caFile: authority.certFile, serverName: undefined, verify: true },
            ...{ certFile: undefined, keyFile: undefined },
          },
        }),
      },
    };
    const logged: LoggedLine[] = [];
    const config = { ...withUpstream, ...options.config?.(withUpstream) };
    const sidecar = await Sidecar.create(config, recordingLogger(logged), options.clock ?? systemClock);
    return new FaultHarness(sidecar, await sidecar.start(), logged, upstream);
  }

  client(text = ''): Peer {
    const client = new Peer(net.connect({ port: this.port, host: '127.0.0.1', allowHalfOpen: true }));
    this.#clients.push(client);
    if (text !== '') client.send(text);
    return client;
  }

  /** `/metrics`, by name and labels as written. */
  async samples(): Promise<Map<string, number>> {
    const answer = await fetch(`http://127.0.0.1:${this.monitorPort}/metrics`);
    return samplesOf(await answer.text());
  }

  async dropwizard(): Promise<Dropwizard> {
    const answer = await fetch(`http://127.0.0.1:${this.monitorPort}/smartWeb/api/rest/v0/admin/metrics/d2/rpc`);
    return (await answer.json()) as Dropwizard;
  }

  async close(): Promise<void> {
    for (const { socket } of this.#clients) socket.destroy();
    await this.upstream.goDown();
    await this.sidecar.stop();
  }
}

/** Listens on the port that the sidecar connects to, or not. */
export class FaultyUpstream {
  readonly port: number;
  /** Scripted connections, in order. */
  readonly scripted: net.Socket[] = [];
  readonly #sockets = new Set<net.Socket>();
  readonly #options: FaultOptions;
  #server: net.Server | undefined;

  private constructor(options: FaultOptions, server: net.Server) {
    this.#options = options;
    this.#server = server;
    this.port = (server.address() as net.AddressInfo).port;
  }

  static async start(options: FaultOptions): Promise<FaultyUpstream> {
    const server = createUpstream(options);
    await listening(server);
    const upstream = new FaultyUpstream(options, server);
    if (options.script === undefined) await upstream.goDown();
    else upstream.#serve(server, options.script);
    return upstream;
  }

  /** Like the end of the process: no listener, and every connection is reset. */
  async goDown(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    if (server === undefined) return;
    server.close();
    await once(server, 'close');
  }

  async comeUp(script: FaultScript): Promise<void> {
    const server = createUpstream(this.#options);
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.#server = server;
    this.#serve(server, script);
  }

  #serve(server: net.Server, script: FaultScript): void {
    let count = 0;
    server.on('connection', (socket: net.Socket) => {
      socket.on('error', () => undefined);
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    server.on(isTls(this.#options) ? 'secureConnection' : 'connection', (socket: net.Socket) => {
      socket.on('error', () => undefined);
      this.scripted.push(socket);
      count += 1;
      script(socket, count);
    });
  }
}

function isTls({ secure, isPlainDespiteTls }: FaultOptions): boolean {
  return secure !== undefined && isPlainDespiteTls !== true;
}

function createUpstream(wanted: FaultOptions): net.Server {
  const options = { allowHalfOpen: true, noDelay: true };
  const { secure } = wanted;
  if (secure === undefined || !isTls(wanted)) return net.createServer(options);
  return tls.createServer({ ...options, cert: textOf(secure.own.certFile), key: textOf(secure.own.keyFile) });
}

export function recordingLogger(logged: LoggedLine[]): Logger {
  const log =
    (level: string) =>
    (details: unknown, message?: string): void => {
      logged.push({ level, details: details as LoggedLine['details'], message });
    };
  return { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
}

/** Calls `act` for each complete head. */
export function atHeads(upstream: net.Socket, act: (head: string) => void): void {
  let text = '';
  upstream.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
    for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
      const head = text.slice(0, end + 4);
      text = text.slice(end + 4);
      act(head);
    }
  });
  upstream.on('end', () => upstream.end());
}

export const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';

/** Answers every request. */
export const sound: FaultScript = (upstream) => atHeads(upstream, () => upstream.write(OK));

/** Sends `text` for each head. */
export function answering(text: string): FaultScript {
  return (upstream) => atHeads(upstream, () => upstream.write(text, 'latin1'));
}

/** Resets the TCP connection, also below TLS. */
export function reset(upstream: net.Socket): void {
  const below = (upstream as net.Socket & { readonly _parent?: net.Socket })._parent ?? upstream;
  below.resetAndDestroy();
}
