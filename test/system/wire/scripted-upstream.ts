import type { Server as HttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { resetConnection } from '../../../src/tls/connection-end.ts';
import { SplitWriter } from '../../support/wire/split-writer.ts';
import type { CaseRun, EndingSeen } from './case-run.ts';
import { fieldOf, type Message, MessageReader } from './message-reader.ts';

const KEPT_RAW_BYTES = 1_048_576;
const TOKEN = /\r\nx-case: *([\w-]+)\r\n/i;

/** What an upstream does with one connection, from its first request on. When it returns, a FIN is answered with a FIN. */
export type UpstreamScript = (connection: UpstreamConnection) => Promise<void>;

/** The upstream's end of one connection: reads requests as RFC 9112 says, and sends exactly the bytes it is given. */
export class UpstreamConnection {
  readonly run: CaseRun;
  readonly socket: Socket;
  ending: EndingSeen = 'open';
  /** The first MiB of all that came, as latin1. */
  raw = '';
  readonly #reader: MessageReader;
  readonly #writer: SplitWriter;
  readonly #seen: (bytes: Buffer) => void;
  #taken = 0;
  #reported = 0;
  #isDone = false;

  constructor(socket: Socket, run: CaseRun) {
    this.run = run;
    this.socket = socket;
    this.#writer = new SplitWriter(socket, run.splitResponseAt);
    this.#reader = new MessageReader({ kind: 'request', onProgress: () => this.#progressed() });
    this.#seen = (bytes) => {
      if (this.raw.length < KEPT_RAW_BYTES) this.raw += bytes.toString('latin1', 0, KEPT_RAW_BYTES - this.raw.length);
      this.#reader.push(bytes);
    };
    run.upstreamConnections.push(this);
    socket.on('data', this.#seen);
    socket.on('end', () => this.#ended('fin'));
    socket.on('error', () => this.#ended('reset'));
    socket.on('close', () => this.#ended('reset'));
  }

  get tunnel(): string {
    return this.#reader.tunnel;
  }

  async follow(script: UpstreamScript, first: Buffer): Promise<void> {
    this.#seen(first);
    try {
      await script(this);
    } catch (failure) {
      this.run.failure = failure;
      this.run.changed.notify();
    }
    this.#isDone = true;
    if (this.ending === 'fin') this.socket.end();
  }

  /** The next request once its head has come (its body may still come); undefined when there will be none. */
  async head(): Promise<Message | undefined> {
    const index = this.#taken;
    await this.run.changed.until(() => this.#reader.messages.length > index || this.ending !== 'open');
    const message = this.#reader.messages[index];
    if (message !== undefined) this.#taken += 1;
    return message;
  }

  /** The next request once it has come whole; undefined when there will be none. */
  async request(): Promise<Message | undefined> {
    const message = await this.head();
    if (message === undefined) return undefined;
    await this.run.changed.until(() => message.isComplete || this.ending !== 'open');
    return message.isComplete ? message : undefined;
  }

  /** Resolves when the bytes are in the kernel. Strings are latin1. */
  async write(data: string | Buffer): Promise<void> {
    await this.#writer.write(data);
  }

  /** Takes the bytes behind the latest request, which asked for an upgrade, as the new protocol's. */
  acceptUpgrade(): void {
    this.#reader.resume('tunnel');
  }

  /** Goes on reading requests behind one that asked for an upgrade. */
  declineUpgrade(): void {
    this.#reader.resume('head');
  }

  async tunnelCame(bytes: number): Promise<void> {
    await this.run.changed.until(() => this.tunnel.length >= bytes);
  }

  /** Until the other side has ended this connection, in whichever way. */
  async ended(): Promise<void> {
    await this.run.changed.until(() => this.ending !== 'open');
  }

  /** FIN; what still comes is read, so that the kernel does not turn this into an RST that overtakes the answer. */
  end(): void {
    this.socket.end();
  }

  /** RST. */
  reset(): void {
    this.#ended('reset');
    resetConnection(this.socket);
  }

  /** Gives this connection, from its first byte on, to a real server; what it sees is for its handlers to note. */
  handOver(server: HttpServer): void {
    this.socket.off('data', this.#seen);
    this.socket.pause();
    this.socket.unshift(Buffer.from(this.raw, 'latin1'));
    // How much of the first message had come already is chance, and not to be compared.
    this.raw = '';
    this.run.requests.length = 0;
    server.emit('connection', this.socket);
    this.socket.resume();
  }

  #progressed(): void {
    const { messages } = this.#reader;
    for (; this.#reported < messages.length; this.#reported += 1) {
      const message = messages[this.#reported]!;
      if (fieldOf(message, 'x-case') !== this.run.token)
        this.run.note(`a request of another client: ${message.startLine}`);
      this.run.requests.push(message);
    }
    if (this.#reader.problem !== undefined) this.run.failure ??= new Error(this.#reader.problem);
    this.run.changed.notify();
  }

  #ended(ending: EndingSeen): void {
    if (this.ending !== 'open') return;
    this.ending = ending;
    this.#reader.end();
    if (this.#isDone && ending === 'fin') this.socket.end();
  }
}

/** One listening server for many runs: each connection follows the script of the run whose token its first request carries. */
export class ScriptedUpstream {
  readonly port: number;
  /** All bytes that came on any connection, counted to show that nothing of a refused message comes. */
  bytesRead = 0;
  readonly #server: Server;
  readonly #runs = new Map<
    string,
    { readonly run: CaseRun; readonly script: UpstreamScript; readonly sockets: Socket[] }
  >();
  readonly #sockets = new Set<Socket>();

  constructor(server: Server, own?: object) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on(own === undefined ? 'connection' : 'secureConnection', (socket) => this.#accept(socket));
  }

  /** `own`: its certificate and key, to speak TLS. */
  static async listen(own?: { readonly cert: string; readonly key: string }): Promise<ScriptedUpstream> {
    const options = { allowHalfOpen: true, noDelay: true };
    const server = own === undefined ? createServer(options) : createSecureServer({ ...options, ...own });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(0, '127.0.0.1', resolve);
    });
    return new ScriptedUpstream(server, own);
  }

  add(run: CaseRun, script: UpstreamScript): void {
    this.#runs.set(run.token, { run, script, sockets: [] });
  }

  /** Forgets a run and closes what is left of its connections. */
  remove(run: CaseRun): void {
    for (const socket of this.#runs.get(run.token)?.sockets ?? []) socket.destroy();
    this.#runs.delete(run.token);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      this.bytesRead += bytes.length;
    });
    let first = Buffer.alloc(0);
    let isTaken = false;
    const onFirst = (bytes: Buffer) => {
      first = Buffer.concat([first, bytes]);
      const head = first.indexOf('\r\n\r\n', 2) < 0 ? '' : first.toString('latin1');
      const entry = this.#runs.get(TOKEN.exec(head)?.[1] ?? '');
      if (entry === undefined) return;
      isTaken = true;
      socket.off('data', onFirst);
      entry.sockets.push(socket);
      void new UpstreamConnection(socket, entry.run).follow(entry.script, first);
    };
    socket.on('data', onFirst);
    socket.on('end', () => {
      // No request came on it: nobody else will answer its FIN.
      if (!isTaken) socket.end();
    });
  }
}
