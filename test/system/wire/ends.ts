/** Both ends of a run of a case: a client and an upstream that send exactly the bytes of their scripts. */
import { connect, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { resetConnection } from '../../../src/tls/connection-end.ts';
import type { Pair } from '../../support/tls/certificates.ts';
import { RawUpstream } from '../../support/wire/raw-upstream.ts';
import { SplitWriter } from '../../support/wire/split-writer.ts';
import { fieldOf, isInterim, type Message, MessageReader, methodOf, type ReaderOptions } from './message-reader.ts';
import { playSteps, type Script } from './steps.ts';

/** How a side's connection was ended by its peer, as far as it has been. */
export type EndingSeen = 'open' | 'fin' | 'reset';

/** Offset in all that the client or the upstream sends, at which it makes two segments. */
export interface Split {
  readonly request?: number;
  readonly response?: number;
}

/** What both ends of one run of one case share: its token, what came to the upstream, and where to wait for it. */
export class CaseRun {
  /** Carried in each request as `X-Case`, so that one upstream serves many runs at once. */
  readonly token: string;
  readonly requests: Message[] = [];
  readonly upstreamConnections: { readonly ending: EndingSeen; readonly raw: string; readonly tunnel: string }[] = [];
  /** What the ends saw that is not in a message, e.g. WebSocket messages; compared like the rest. */
  readonly notes: string[] = [];
  readonly split: Split;
  /** Resolves when what lies between the ends has taken up all that reached it. */
  readonly settle: () => Promise<void>;
  failure: unknown;
  readonly #waiters = new Set<() => void>();

  constructor(token: string, split: Split, settle: () => Promise<void>) {
    this.token = token;
    this.split = split;
    this.settle = settle;
  }

  notify(): void {
    for (const waiter of [...this.#waiters]) waiter();
  }

  /** Resolves once `condition` holds, which is looked at again at each `notify`. Unbounded: the case has a deadline. */
  until(condition: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!condition()) return;
        this.#waiters.delete(look);
        resolve();
      };
      this.#waiters.add(look);
      look();
    });
  }

  note(text: string): void {
    this.notes.push(text);
    this.notify();
  }
}

const KEPT_RAW_BYTES = 1_048_576;

/** One end of a connection of a run: sends exactly the bytes that it is given, and reads messages as RFC 9112 says. */
export class CaseEnd {
  readonly run: CaseRun;
  readonly socket: Socket;
  ending: EndingSeen = 'open';
  /** The first MiB of all that came, as latin1. */
  raw = '';
  protected readonly reader: MessageReader;
  readonly #writer: SplitWriter;

  constructor(socket: Socket, run: CaseRun, splitAt: number | undefined, options: ReaderOptions) {
    this.run = run;
    this.socket = socket;
    this.#writer = new SplitWriter(socket, splitAt);
    this.reader = new MessageReader(options);
    socket.on('data', this.onBytes);
    socket.on('end', () => this.onEnded('fin'));
    socket.on('error', () => this.onEnded('reset'));
    socket.on('close', () => this.onEnded('reset'));
  }

  get tunnel(): string {
    return this.reader.tunnel;
  }

  /** Resolves when the bytes are in the kernel. Strings are latin1. */
  async send(data: string | Buffer): Promise<void> {
    await this.#writer.write(data);
  }

  reset(): void {
    this.onEnded('reset');
    resetConnection(this.socket);
  }

  /** Waiting for what cannot come any more fails at once, and shows what came instead. */
  async until(condition: () => boolean): Promise<void> {
    await this.run.until(() => condition() || this.ending !== 'open');
    if (!condition())
      throw new Error(`the connection has ended (${this.ending}) after ${JSON.stringify(this.raw.slice(0, 600))}`);
  }

  protected readonly onBytes = (bytes: Buffer): void => {
    if (this.raw.length < KEPT_RAW_BYTES) this.raw += bytes.toString('latin1', 0, KEPT_RAW_BYTES - this.raw.length);
    this.reader.push(bytes);
  };

  protected onEnded(ending: EndingSeen): void {
    if (this.ending !== 'open') return;
    this.ending = ending;
    if (ending === 'fin') this.reader.end();
    this.run.notify();
  }
}

export class RawClient extends CaseEnd {
  /** Reads what this client itself sends, to know which response answers HEAD. */
  readonly #sent = new MessageReader({ kind: 'request', onProgress: () => undefined });

  /** `ca`: authority of the certificate on that port, to speak TLS. */
  constructor(port: number, run: CaseRun, ca?: string) {
    // Half-open, so that a FIN from the other side does not end this one: each end is a line of the script.
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    super(ca === undefined ? socket : connectSecure({ socket, ca, host: '127.0.0.1' }), run, run.split.request, {
      kind: 'response',
      requestMethod: () => this.#methodToAnswer(),
      onProgress: () => run.notify(),
    });
  }

  get responses(): readonly Message[] {
    return this.reader.messages;
  }

  get problem(): string | undefined {
    return this.reader.problem;
  }

  /** `{case-token}` becomes the run's token. */
  override async send(data: string | Buffer): Promise<void> {
    const bytes =
      typeof data === 'string' ? Buffer.from(data.replaceAll('{case-token}', this.run.token), 'latin1') : data;
    this.#sent.push(bytes);
    await super.send(bytes);
  }

  get finals(): readonly Message[] {
    return this.responses.filter((response) => !isInterim(response));
  }

  #methodToAnswer(): string {
    const request = this.#sent.messages[this.finals.length];
    return request === undefined ? 'GET' : methodOf(request);
  }
}

const TOKEN = /\r\nx-case: *([\w-]+)\r\n/i;

/** What an upstream does with one connection, from its first request on. When it returns, a FIN is answered with a FIN. */
export type UpstreamScript = Script<UpstreamConnection>;

export class UpstreamConnection extends CaseEnd {
  #taken = 0;
  #reported = 0;
  #isDone = false;

  constructor(socket: Socket, run: CaseRun) {
    super(socket, run, run.split.response, { kind: 'request', onProgress: () => this.#progressed() });
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
  readonly #server: RawUpstream;
  #tokens = 0;
  readonly #runs = new Map<string, { run: CaseRun; script: UpstreamScript; sockets: Socket[] }>();

  private constructor(server: RawUpstream) {
    this.#server = server;
  }

  /** `own`: its certificate, to speak TLS. */
  static async listen(own?: Pair): Promise<ScriptedUpstream> {
    const scripted = new ScriptedUpstream(new RawUpstream(own));
    await scripted.#server.comeUp((socket) => scripted.#accept(socket));
    return scripted;
  }

  get port(): number {
    return this.#server.port;
  }

  close(): Promise<void> {
    return this.#server.goDown();
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

  #accept(socket: Socket): void {
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
