/**
 * Pushes metrics and spans to a receiver of OpenTelemetry, by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/). It reads what the
 * monitoring server reads and is told of calls as an access log is; it must know nothing of sockets of clients or of the upstream. Loaded
 * only where `otlp.endpoint` is set.
 *
 * Nothing here harms traffic: what cannot be sent is counted and dropped. docs/opentelemetry.md says what is sent, and what becomes of
 * it with a receiver that is away, slow or refuses.
 */
import { hostname } from 'node:os';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import type { CallObservers } from '../../measure/record/call-observer.ts';
import type { Monitored, MonitoredOtlp } from '../../monitor/monitored.ts';
import type { NextTurn } from '../../monitor/turns.ts';
import { CallSpans } from './call-spans.ts';
import { MetricPush } from './metric-push.ts';
import { Receiver } from './receiver.ts';
import { type Signal, SignalNumbers } from './signal-numbers.ts';
import { SpanPush } from './span-push.ts';

export interface OtlpParts {
  readonly config: Pick<Config, 'listen' | 'otlp'>;
  readonly monitored: Pick<Monitored, 'applications' | 'sidecar' | 'jvm'>;
  /** Where calls are told of. */
  readonly observers: Pick<CallObservers, 'add' | 'remove'>;
  readonly clock: Clock;
  readonly nextTurn?: NextTurn;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const NAME = 'd2-sidecar';

export class Otlp implements MonitoredOtlp {
  readonly signals = new Map<Signal, SignalNumbers>();
  readonly #parts: OtlpParts;
  readonly #metrics: MetricPush | undefined;
  readonly #spans: SpanPush | undefined;
  readonly #calls: CallSpans | undefined;

  /** Makes all parts and sends nothing. `otlp.endpoint` has to be set. */
  constructor(parts: OtlpParts) {
    this.#parts = parts;
    const { config, monitored, clock } = parts;
    const { version } = monitored.sidecar;
    const { metrics, traces } = config.otlp;
    const resource = resourceFromAttributes(toResource(version, config));
    const common = { resource, scope: { name: NAME, version }, userAgent: `${NAME}/${version}`, clock };
    if (metrics.enabled) {
      const { intervalMs } = metrics;
      this.#metrics = new MetricPush({
        ...common,
        ...this.#signal('metrics'),
        monitored,
        intervalMs,
        nextTurn: parts.nextTurn,
      });
    }
    if (traces.enabled) {
      this.#spans = new SpanPush({ ...common, ...this.#signal('traces') });
      const { sampleRatio, slowerThanMs } = traces;
      this.#calls = new CallSpans({ ...common, sampleRatio, slowerThanMs, take: this.#spans.take });
    }
  }

  get waitingSpans(): number | undefined {
    return this.#spans?.waiting;
  }

  start(): void {
    this.#metrics?.start();
    if (this.#calls !== undefined) this.#parts.observers.add(this.#calls);
  }

  /** Sends all that there is now, without waiting for the interval. */
  async flush(): Promise<void> {
    await Promise.allSettled([this.#metrics?.push(), this.#spans?.flush()]);
  }

  /** Sends for the last time, within `limitMs`; what cannot be sent by then is lost. Never rejects. */
  async stop(limitMs: number): Promise<void> {
    if (this.#calls !== undefined) this.#parts.observers.remove(this.#calls);
    if (limitMs <= 0) this.#close();
    const sent = Promise.allSettled([this.#metrics?.stop(limitMs), this.#spans?.stop()]);
    const isSent = await withinLimit(
      sent.then((results) => results.every(({ status }) => status === 'fulfilled')),
      limitMs,
    );
    this.#close();
    if (!isSent || this.#spans?.waiting) {
      this.#parts.logger.warn(
        { spans: this.#spans?.waiting },
        'stopped before everything was sent to the OTLP receiver',
      );
    }
  }

  #close(): void {
    this.#metrics?.close();
    this.#spans?.close();
  }

  #signal(signal: Signal): { readonly receiver: Receiver; readonly numbers: SignalNumbers } {
    const { config, env, logger } = this.#parts;
    const { endpoint } = config.otlp;
    if (endpoint === undefined) throw new TypeError('otlp.endpoint is checked before');
    const numbers = new SignalNumbers(signal, logger);
    this.signals.set(signal, numbers);
    return { numbers, receiver: new Receiver(signal, { config: { ...config.otlp, endpoint }, env, logger }) };
  }
}

/**
 * Who sends. The instance is the same after a restart: counters that go on there are to go on as the same series. Where the port is any
 * free one, the process tells apart what the port cannot.
 */
function toResource(version: string, { listen }: OtlpParts['config']): Record<string, string> {
  const host = hostname();
  return {
    'service.name': NAME,
    'service.version': version,
    'service.instance.id': `${host}:${listen.port === 0 ? `pid-${process.pid}` : listen.port}`,
    'host.name': host,
  };
}

/** What `work` resolves to; false where that takes too long. */
async function withinLimit(work: Promise<boolean>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, limitMs));
  });
  const isDone = await Promise.race([work, limit]);
  clearTimeout(timer);
  return isDone;
}
