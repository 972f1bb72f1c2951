import { gzipSync } from 'node:zlib';
import type { CometListener } from '../../../../src/measure/comet/comet-application.ts';
import type { RecorderConfig } from '../../../../src/measure/record/recorded-application.ts';
import { COMPLETED, type Ending, type Exchange, type TunnelObserver } from '../../../../src/proxy/exchange/exchange.ts';
import type { ManualClock } from '../../clock.ts';
import { clientText, text } from '../../protocol/websocket/frames.ts';
import { testComet, testSessions } from '../../wire/test-config.ts';
import { Traffic } from '../record/traffic.ts';

export const COMET = '/smartWeb/api/cometd';
export const GONE_MS = testSessions.cometGoneMs;
export const IDLE_MS = 30 * 60_000;

export type Message = Readonly<Record<string, unknown>>;

/** The message of a call of E.Demo.Test. */
export const rpcCall = (id: string, clientId = 'a') => ({
  ...{ channel: '/service/d2/rpc', id, clientId, data: { eventName: 'E.Demo', rpcName: 'Test' } },
});

/** Its answer. */
export const rpcAnswer = (id: string) => ({ channel: '/service/d2/rpc', id, data: { result: 1 } });

export interface Sender {
  readonly cookie?: string;
  readonly user?: string;
  readonly password?: string;
  readonly apiKey?: string;
  readonly from?: string;
  readonly coding?: string | undefined;
}

export interface Reply {
  readonly messages?: readonly Message[];
  readonly body?: string;
  readonly status?: number;
  readonly setCookie?: string;
  readonly ending?: Ending;
  readonly afterMs?: number;
  readonly gzip?: boolean;
}

/** Comet traffic as the data plane reports it: bodies in two pieces, tunnels in whole frames. */
export class CometTraffic extends Traffic {
  constructor(change: Partial<RecorderConfig> = {}, listener?: CometListener, clock?: ManualClock) {
    super({ sessions: { ...testSessions, idleMs: IDLE_MS }, comet: testComet, ...change }, listener, clock);
  }

  get numbers() {
    return this.recorder.own.comet;
  }

  beginPost(messages: readonly Message[] | string | Buffer, sender: Sender = {}, path = COMET): Exchange {
    const { cookie, coding, ...who } = sender;
    const fields: Record<string, string> = { 'content-type': 'application/json' };
    if (coding !== undefined) fields['content-encoding'] = coding;
    if (cookie !== undefined) fields.cookie = `lang=sk; JSESSIONID=${cookie}`;
    const exchange = this.begin({ line: `POST ${path}`, fields, ...who });
    const isRaw = typeof messages === 'string' || Buffer.isBuffer(messages);
    const body = isRaw ? Buffer.from(messages as string) : Buffer.from(JSON.stringify(messages));
    this.#feed(body, (bytes) => this.reporter.requestBytes(exchange, bytes));
    this.reporter.requestEnd(exchange);
    return exchange;
  }

  endPost(exchange: Exchange, reply: Reply = {}): void {
    const { messages, body, status = 200, setCookie, ending = COMPLETED, afterMs = 0, gzip = false } = reply;
    this.clock.advanceMs(afterMs);
    // With messages and another ending, the client has refused the answer.
    const isAnswered = ending === COMPLETED || messages !== undefined;
    if (isAnswered) {
      const fields: Record<string, string> = gzip ? { 'content-encoding': 'gzip' } : {};
      const setCookies =
        setCookie === undefined ? [] : ['lang=sk', `JSESSIONID=${setCookie}; Path=/smartWeb; HttpOnly`];
      this.reporter.response(exchange, {
        status,
        field: (name) => fields[name],
        fields: (name) => (name === 'set-cookie' ? setCookies : []),
      });
      const bytes = Buffer.from(body ?? JSON.stringify(messages ?? []));
      this.#feed(gzip ? gzipSync(bytes) : bytes, (part) => this.reporter.responseBytes(exchange, part));
      this.reporter.responseEnd(exchange);
    }
    this.end(exchange, { ending, status: isAnswered ? status : 0 });
  }

  post(messages: readonly Message[], replies: readonly Message[], sender: Sender = {}, reply: Reply = {}): void {
    this.endPost(this.beginPost(messages, sender), { messages: replies, ...reply });
  }

  handshake(clientId: string, sender: Sender = {}, reply: Reply = {}): void {
    const asked = { channel: '/meta/handshake', id: '1', supportedConnectionTypes: ['websocket', 'long-polling'] };
    const answer = { channel: '/meta/handshake', id: '1', clientId, successful: true };
    this.post([asked], [answer], sender, { afterMs: 3, ...reply });
  }

  hold(clientId: string, sender: Sender = {}): Exchange {
    const connect = { channel: '/meta/connect', id: 'c', clientId, connectionType: 'long-polling' };
    return this.beginPost([connect], sender);
  }

  release(exchange: Exchange, delivered: readonly Message[] = [], reply: Reply = {}): void {
    this.endPost(exchange, {
      messages: [...delivered, { channel: '/meta/connect', id: 'c', successful: true }],
      ...reply,
    });
  }

  /** Posts a message that the server accepts, or answers with what `reply` says. */
  ask(message: Message, sender: Sender = {}, reply: Message = { successful: true }): void {
    const { data: _, ...answer } = message;
    this.post([message], [{ ...answer, ...reply }], sender);
  }

  subscribe(clientId: string, channel: string | readonly string[], sender?: Sender): void {
    this.ask({ channel: '/meta/subscribe', id: 's', clientId, subscription: channel }, sender);
  }

  unsubscribe(clientId: string, channel: string, sender?: Sender): void {
    this.ask({ channel: '/meta/unsubscribe', id: 'u', clientId, subscription: channel }, sender);
  }

  disconnect(clientId: string, sender?: Sender): void {
    this.ask({ channel: '/meta/disconnect', id: 'd', clientId }, sender);
  }

  sweepAfter(ms: number): void {
    this.clock.advanceMs(ms);
    this.recorder.sweep();
  }

  maxMsOf(name = 'rpc.E.Demo.Test'): number {
    const timer = this.application().statistics.rpc.metrics().timers.get(name);
    return (timer?.snapshot().max ?? Number.NaN) / 1e6;
  }

  login(userName: string, sender: Sender = {}, reply: Reply = {}): void {
    const form = `j_password=geheim&j_username=${encodeURIComponent(userName)}`;
    this.endPost(this.beginPost(form, sender, '/smartWeb/pages/j_security_check'), { status: 303, body: '', ...reply });
  }

  webSocket({ cookie, ...who }: Sender = {}, extensions: readonly string[] = []): Tunnel {
    const exchange = this.begin({
      line: `GET ${COMET}`,
      fields: cookie === undefined ? {} : { cookie: `JSESSIONID=${cookie}` },
      ...who,
    });
    exchange.status = 101;
    this.reporter.response(exchange, {
      status: 101,
      field: () => undefined,
      fields: (name) => (name === 'sec-websocket-extensions' ? extensions : []),
    });
    const observer = this.reporter.tunnelOf(exchange);
    this.end(exchange, { status: 101 });
    if (observer === undefined) throw new Error('the tunnel is not observed');
    return new Tunnel(observer);
  }

  gauges(): { active: number; monitored: number; subscriptions: number } {
    const { statistics, sessions } = this.application();
    const object = statistics.object.metrics();
    return {
      active: sessions.size,
      monitored: Number(object.gauges.get('object.monitored')?.read()),
      subscriptions: object.counters.get('object.subscriptions')?.count ?? -1,
    };
  }

  subscriptionsOf(name: string): number | undefined {
    return this.application().statistics.object.metrics().counters.get(`object.${name}.subscriptions`)?.count;
  }

  #feed(body: Buffer, take: (bytes: Buffer) => void): void {
    const half = Math.floor(body.length / 2);
    if (half > 0) take(body.subarray(0, half));
    if (body.length > half) take(body.subarray(half));
  }
}

/** A WebSocket without extensions, both ends of it. */
export class Tunnel {
  readonly #observer: TunnelObserver;

  constructor(observer: TunnelObserver) {
    this.#observer = observer;
  }

  client(...messages: Message[]): void {
    this.#observer.onClientBytes(clientText(JSON.stringify(messages)));
  }

  upstream(...messages: Message[]): void {
    this.#observer.onUpstreamBytes(text(JSON.stringify(messages)));
  }

  upstreamBytes(bytes: Buffer): void {
    this.#observer.onUpstreamBytes(bytes);
  }

  close(): void {
    this.#observer.onClosed();
  }

  subscribe(clientId: string, subscription: string): void {
    const asked = { channel: '/meta/subscribe', id: '2', clientId, subscription };
    this.client(asked);
    this.upstream({ ...asked, successful: true });
  }

  handshake(clientId: string, ext?: unknown): void {
    this.client({ channel: '/meta/handshake', id: '1', supportedConnectionTypes: ['websocket'], ext });
    this.upstream({ channel: '/meta/handshake', id: '1', clientId, successful: true });
  }
}
