import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { createServer as createSecureServer } from 'node:tls';
import { listening } from '../../support/net.ts';
import { CaseEnd } from './case-end.ts';
import type { CaseRun, EndingSeen } from './case-run.ts';
import { fieldOf, type Message } from './message-reader.ts';
import { playSteps, type Script } from './steps.ts';

const TOKEN = /\r\nx-case: *([\w-]+)\r\n/i;

/** What an upstream does with one connection, from its first request on. When it returns, a FIN is answered with a FIN. */
export type UpstreamScript = Script<UpstreamConnection>;

export class UpstreamConnection extends CaseEnd {
  #taken = 0;
  #reported = 0;
  #isDone = false;

  constructor(socket: Socket, run: CaseRun) {
    super(socket, run, run.splitResponseAt, { kind: 'request', onProgress: () => this.#progressed() });
    run.upstreamConnections.push(this);
  }

  async follow(script: UpstreamScript, first: Buffer): Promise<void> {
    this.onBytes(first);
    try {
      await playSteps(script, this);
    } catch (failure) {
      this.run.failure = failure;
      this.run.notify();
    }
    this.#isDone = true;
    if (this.ending === 'fin') this.socket.end();
  }

  /** The next request once its head has come (its body may still come); undefined when there will be none. */
  async head(): Promise<Message | undefined> {
    const index = this.#taken;
    await this.run.until(() => this.reader.messages.length > index || this.ending !== 'open');
    const message = this.reader.messages[index];
    if (message !== undefined) this.#taken += 1;
    return message;
  }

  /** The next request once it has come whole; undefined when there will be none. */
  async request(): Promise<Message | undefined> {
    const message = await this.head();
    if (message === undefined) return undefined;
    await this.run.until(() => message.isComplete || this.ending !== 'open');
    return message.isComplete ? message : undefined;
  }

  /** Takes the bytes behind the latest request, which asked for an upgrade, as the new protocol's, or as more requests. */
  readOn(as: 'tunnel' | 'head'): void {
    this.reader.resume(as);
  }

  /** Gives this connection, from its first byte on, to a real server; what it sees is for its handlers to note. */
  handOver(server: HttpServer): void {
    this.socket.off('data', this.onBytes);
    this.socket.pause();
    this.socket.unshift(Buffer.from(this.raw, 'latin1'));
    // How much of the first message had come already is chance, and not to be compared.
    this.raw = '';
    this.run.requests.length = 0;
    server.emit('connection', this.socket);
    this.socket.resume();
  }

  #progressed(): void {
    const { messages } = this.reader;
    for (; this.#reported < messages.length; this.#reported += 1) {
      const message = messages[this.#reported]!;
      if (fieldOf(message, 'x-case') !== this.run.token)
        this.run.note(`a request of another client: ${message.startLine}`);
      this.run.requests.push(message);
    }
    if (this.reader.problem !== undefined) this.run.failure ??= new Error(this.reader.problem);
    this.run.notify();
  }

  protected override onEnded(ending: EndingSeen): void {
    const wasOpen = this.ending === 'open';
    super.onEnded(ending);
    if (wasOpen && this.#isDone && ending === 'fin') this.socket.end();
  }
}

/** One listening server for many runs: each connection follows the script of the run whose token its first request carries. */
export class ScriptedUpstream {
  readonly port: number;
  readonly #server: Server;
  #tokens = 0;
  readonly #runs = new Map<string, { run: CaseRun; script: UpstreamScript; sockets: Socket[] }>();
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, port: number, isSecure: boolean) {
    this.#server = server;
    this.port = port;
    server.on(isSecure ? 'secureConnection' : 'connection', (socket) => this.#accept(socket));
  }

  /** `own`: its certificate and key, to speak TLS. */
  static async listen(own?: { readonly cert: string; readonly key: string }): Promise<ScriptedUpstream> {
    const options = { allowHalfOpen: true, noDelay: true };
    const server = own === undefined ? createServer(options) : createSecureServer({ ...options, ...own });
    return new ScriptedUpstream(server, await listening(server), own !== undefined);
  }

  /** A token for one more run, as long as the placeholder `{case-token}`, so that offsets mean the same in every run. */
  nextToken(): string {
    this.#tokens += 1;
    return `run-${String(this.#tokens).padStart(8, '0')}`;
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
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
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
