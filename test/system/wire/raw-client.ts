import { connect } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { CaseEnd } from './case-end.ts';
import type { CaseRun } from './case-run.ts';
import { isInterim, type Message, MessageReader, methodOf } from './message-reader.ts';

export class RawClient extends CaseEnd {
  /** Reads what this client itself sends, to know which response answers HEAD. */
  readonly #sent = new MessageReader({ kind: 'request', onProgress: () => undefined });

  /** `ca`: authority of the certificate on that port, to speak TLS. */
  constructor(port: number, run: CaseRun, ca?: string) {
    // Half-open, so that a FIN from the other side does not end this one: each end is a line of the script.
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    super(ca === undefined ? socket : connectSecure({ socket, ca, host: '127.0.0.1' }), run, run.splitRequestAt, {
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
