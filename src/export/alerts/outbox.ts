import { type Clock, NS_PER_S } from '../../base/clock.ts';
import { describeErrno } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { describeTlsFault } from '../../tls/tls-fault.ts';
import type { AlertMessage } from './message.ts';

export type ChannelName = 'webhook' | 'mail';

/** Sends one message. Resolves to what the receiver answered, e.g. `200`; rejects with a SendError. */
export interface Channel {
  readonly name: ChannelName;
  send(message: AlertMessage, signal: AbortSignal): Promise<string>;
  /** Reaches the receiver without a message. Resolves to what it answered. */
  verify(signal: AbortSignal): Promise<string>;
}

/** Why a message was not delivered, without secrets and without text of the receiver. */
export class SendError extends Error {
  /** The receiver refuses this message, so that a retry is useless. */
  readonly isFinal: boolean;

  constructor(message: string, isFinal = false) {
    super(message);
    this.isFinal = isFinal;
  }
}

/** Half a day at the default `alerts.maxPerHour`. */
const MAX_WAITING = 500;
const FIRST_RETRY_NS = 2 * NS_PER_S;
const MAX_RETRY_NS = 300 * NS_PER_S;
const SEND_MS = 10_000;

/** Messages that wait for one channel, in order. One is sent at a time, and repeated until it is delivered. */
export class Outbox {
  readonly channel: Channel;
  readonly counts = { sent: 0, failures: 0, dropped: 0 };
  /** Why the last try failed; undefined after a success. */
  failure: { readonly reason: string; readonly sinceEpochMs: number } | undefined;
  waiting: readonly AlertMessage[];
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #save: () => Promise<void>;
  #sending: Promise<void> | undefined;
  #abort = new AbortController();
  #notBeforeNs = 0;
  #retryNs = FIRST_RETRY_NS;

  /** `save`: called when the list has changed, before the next message is sent. */
  constructor(
    channel: Channel,
    waiting: readonly AlertMessage[],
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
    save: () => Promise<void>,
  ) {
    this.channel = channel;
    this.waiting = waiting.slice(-MAX_WAITING);
    this.#clock = clock;
    this.#logger = logger;
    this.#save = save;
  }

  /** For /metrics. */
  get numbers() {
    return { ...this.counts, waiting: this.waiting.length, failing: Number(this.failure !== undefined) };
  }

  add(message: AlertMessage): void {
    this.waiting = [...this.waiting, message];
    const surplus = this.waiting.length - MAX_WAITING;
    if (surplus <= 0) return;
    this.counts.dropped += surplus;
    this.waiting = this.waiting.slice(surplus);
  }

  /** Begins to send if it is time. Called every second, and after `add`. */
  tick(): void {
    if (this.#sending !== undefined || this.waiting.length === 0 || this.#clock.nowNs() < this.#notBeforeNs) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Ends a try that runs. Never rejects. */
  async stop(): Promise<void> {
    this.#notBeforeNs = Number.POSITIVE_INFINITY;
    this.#abort.abort();
    await this.#sending;
  }

  /** Resolves when nothing is being sent. */
  async settled(): Promise<void> {
    await this.#sending;
  }

  async #sendAll(): Promise<void> {
    for (let [message] = this.waiting; message !== undefined; [message] = this.waiting) {
      if (!(await this.#sendOne(message))) return;
      this.waiting = this.waiting.filter((one) => one !== message);
      await this.#save();
    }
  }

  /** Whether the message needs no further try. */
  async #sendOne(message: AlertMessage): Promise<boolean> {
    const abort = new AbortController();
    this.#abort = abort;
    const timer = setTimeout(() => abort.abort(), SEND_MS);
    try {
      await this.channel.send(message, abort.signal);
    } catch (error) {
      if (this.#notBeforeNs === Number.POSITIVE_INFINITY) return false;
      return this.#fail(error, abort.signal.aborted);
    } finally {
      clearTimeout(timer);
    }
    this.counts.sent += 1;
    this.#retryNs = FIRST_RETRY_NS;
    if (this.failure !== undefined) this.#logger.info({ channel: this.channel.name }, 'messages are sent again');
    this.failure = undefined;
    return true;
  }

  #fail(error: unknown, isLate: boolean): boolean {
    const late = new SendError(`no answer within ${SEND_MS / 1_000} s`);
    const { message: reason, isFinal } = isLate ? late : error instanceof SendError ? error : new SendError('a fault');
    this.counts.failures += 1;
    if (this.failure?.reason !== reason) {
      const details = { code: 'D2S_ERR_ALERTS', channel: this.channel.name, reason };
      this.#logger.warn(details, 'a message cannot be sent; it is tried again');
    }
    this.failure = { reason, sinceEpochMs: this.failure?.sinceEpochMs ?? this.#clock.epochMs() };
    if (isFinal) this.counts.dropped += 1;
    else {
      this.#notBeforeNs = this.#clock.nowNs() + this.#retryNs;
      this.#retryNs = Math.min(MAX_RETRY_NS, 2 * this.#retryNs);
    }
    return isFinal;
  }
}

const CODE = /^[A-Z][A-Z0-9_]{0,63}$/;
const OF_TLS = /CERT|SIGNATURE|SSL|TLS|ISSUER|VERIFY|EPROTO/;

const TEXTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ENOTFOUND: 'has a name that cannot be resolved',
  EAI_AGAIN: 'has a name that cannot be resolved',
  EDNS: 'has a name that cannot be resolved',
  UND_ERR_CONNECT_TIMEOUT: 'did not accept the connection in time',
  ETIMEDOUT: 'did not answer in time',
  ECONNRESET: 'closed the connection',
  ECONNECTION: 'closed the connection',
  UND_ERR_SOCKET: 'closed the connection',
};

/** Keeps codes, which are names; messages may quote the peer, or the URL. `who`: e.g. `the receiver`. */
export function describeSendFailure(cause: unknown, who: string): SendError {
  if (cause instanceof SendError) return cause;
  const inner = cause instanceof Error && cause.cause instanceof Error && 'code' in cause.cause ? cause.cause : cause;
  const named = describeErrno(inner);
  const code = CODE.test(named) ? named : 'no code';
  const text =
    TEXTS[code] ??
    (OF_TLS.test(code) ? `cannot be reached by TLS: ${describeTlsFault(code).text}` : 'cannot be reached');
  return new SendError(`${who} ${text} (${code})`);
}
