import { connect, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { resetConnection } from '../../../src/tls/connection-end.ts';
import { SplitWriter } from '../../support/wire/split-writer.ts';
import type { CaseRun, EndingSeen } from './case-run.ts';
import { isInterim, type Message, MessageReader, methodOf } from './message-reader.ts';

const KEPT_RAW_BYTES = 1_048_576;

/** A client that sends exactly the bytes it is given, and reads responses as RFC 9112 says. */
export class RawClient {
  readonly run: CaseRun;
  readonly port: number;
  readonly ca: string | undefined;
  readonly socket: Socket;
  ending: EndingSeen = 'open';
  /** The first MiB of all that came, as latin1. */
  raw = '';
  readonly #reader: MessageReader;
  /** Reads what this client itself sends, to know which response answers HEAD. */
  readonly #sent: MessageReader;
  readonly #writer: SplitWriter;

  /** `ca`: authority of the certificate on that port, to speak TLS. */
  constructor(port: number, run: CaseRun, ca?: string) {
    this.run = run;
    this.port = port;
    this.ca = ca;
    // Half-open, so that a FIN from the other side does not end this one: each end is a line of the script.
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    this.socket = ca === undefined ? socket : connectSecure({ socket, ca, host: '127.0.0.1' });
    this.#writer = new SplitWriter(this.socket, run.splitRequestAt);
    this.#sent = new MessageReader({ kind: 'request', onProgress: () => undefined });
    this.#reader = new MessageReader({
      kind: 'response',
      requestMethod: () => this.#methodToAnswer(),
      onProgress: () => run.changed.notify(),
    });
    this.socket.on('data', (bytes) => {
      if (this.raw.length < KEPT_RAW_BYTES) this.raw += bytes.toString('latin1', 0, KEPT_RAW_BYTES - this.raw.length);
      this.#reader.push(bytes);
    });
    this.socket.on('end', () => this.#ended('fin'));
    this.socket.on('error', () => this.#ended('reset'));
    this.socket.on('close', () => this.#ended('reset'));
  }

  /** Responses, interim ones included, in order. */
  get responses(): readonly Message[] {
    return this.#reader.messages;
  }

  get tunnel(): string {
    return this.#reader.tunnel;
  }

  get problem(): string | undefined {
    return this.#reader.problem;
  }

  /** Resolves when the bytes are in the kernel. Strings are latin1; `{case-token}` becomes the run's token. */
  async send(data: string | Buffer): Promise<void> {
    const bytes =
      typeof data === 'string' ? Buffer.from(data.replaceAll('{case-token}', this.run.token), 'latin1') : data;
    this.#sent.push(bytes);
    await this.#writer.write(bytes);
  }

  /** Until `count` final responses have come whole. */
  async finals(count: number): Promise<void> {
    await this.#until(() => this.#finals().filter((response) => response.isComplete).length >= count);
  }

  /** Until `count` heads, interim ones included, have come. */
  async heads(count: number): Promise<void> {
    await this.#until(() => this.responses.length >= count);
  }

  /** Until that many bytes of the latest response's body have come. */
  async bodyCame(bytes: number): Promise<void> {
    await this.#until(() => (this.responses.at(-1)?.body.bytes ?? 0) >= bytes);
  }

  async tunnelCame(bytes: number): Promise<void> {
    await this.#until(() => this.tunnel.length >= bytes);
  }

  /** Until the other side has ended this connection, in whichever way. */
  async ended(): Promise<void> {
    await this.run.changed.until(() => this.ending !== 'open');
  }

  /** FIN; the answers still come. */
  halfClose(): void {
    this.socket.end();
  }

  /** RST. */
  reset(): void {
    this.#ended('reset');
    resetConnection(this.socket);
  }

  /** Waiting for what cannot come any more fails at once, and shows what came instead. */
  async #until(condition: () => boolean): Promise<void> {
    await this.run.changed.until(() => condition() || this.ending !== 'open');
    if (!condition())
      throw new Error(`the connection has ended (${this.ending}) after ${JSON.stringify(this.raw.slice(0, 600))}`);
  }

  #finals(): Message[] {
    return this.responses.filter((response) => !isInterim(response));
  }

  #methodToAnswer(): string {
    const answered = this.#finals().length;
    const request = this.#sent.messages[answered];
    return request === undefined ? 'GET' : methodOf(request);
  }

  #ended(ending: EndingSeen): void {
    if (this.ending !== 'open') return;
    this.ending = ending;
    if (ending === 'fin') this.#reader.end();
    this.run.changed.notify();
  }
}
