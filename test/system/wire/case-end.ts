import type { Socket } from 'node:net';
import { resetConnection } from '../../../src/tls/connection-end.ts';
import { SplitWriter } from '../../support/wire/split-writer.ts';
import type { CaseRun, EndingSeen } from './case-run.ts';
import { MessageReader, type ReaderOptions } from './message-reader.ts';

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
