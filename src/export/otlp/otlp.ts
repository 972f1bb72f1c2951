/**
 * Pushes metrics and spans to an OpenTelemetry receiver by OTLP over HTTP (https://opentelemetry.io/docs/specs/otlp/).
 * It reads what the monitoring server reads, and observes calls as the access log does. It must not know sockets of
 * clients or of the upstream. It is loaded only if `otlp.endpoint` is set.
 *
 * It never harms traffic: what cannot be sent is counted and dropped. docs/opentelemetry.md says what is sent, and what
 * happens if the receiver is down, slow or refuses.
 */
import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import type { Config } from '../../config/config.ts';
import type { CallObservers } from '../../measure/record/call-observer.ts';
import type { NextTurn } from '../../monitor/loop-share.ts';
import type { Monitored } from '../../monitor/monitored.ts';
import { CallSpans, SpanPush } from './call-spans.ts';
import { MetricPush } from './metric-push.ts';
import { createReceiver, type Receiver } from './receiver.ts';
import { type OtlpNumbers, type Signal, SignalNumbers } from './signal-numbers.ts';

export interface OtlpParts {
  readonly config: Pick<Config, 'listen' | 'otlp'>;
  readonly monitored: Pick<Monitored, 'sidecar' | 'createTables'>;
  readonly observers: Pick<CallObservers, 'add' | 'remove'>;
  readonly clock: Clock;
  readonly nextTurn?: NextTurn;
  readonly logger: Logger;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const NAME = 'd2-sidecar';

export class Otlp implements OtlpNumbers {
  readonly signals = new Map<Signal, SignalNumbers>();
  readonly #parts: OtlpParts;
  readonly #metrics: MetricPush | undefined;
  readonly #spans: SpanPush | undefined;
  readonly #calls: CallSpans | undefined;

  /** Creates all parts and sends nothing. Throws a TypeError unless `otlp.endpoint` is set. */
  constructor(parts: OtlpParts) {
    this.#parts = parts;
    const { config, monitored, clock } = parts;
    const { version } = monitored.sidecar;
    const { metrics, traces } = config.otlp;
    const resource = resourceFromAttributes(describeResource(version, config));
    const common = { resource, scope: { name: NAME, version }, userAgent: `${NAME}/${version}`, clock };
    if (metrics.enabled) {
      const { intervalMs } = metrics;
      const own = { monitored, intervalMs, nextTurn: parts.nextTurn };
      this.#metrics = new MetricPush({ ...common, ...this.#signal('metrics'), ...own });
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

  /** Sends everything now, without waiting for the interval. */
  async flush(): Promise<void> {
    await Promise.allSettled([this.#metrics?.reader.forceFlush(), this.#spans?.processor.forceFlush()]);
  }

  /** Sends for the last time, within `limitMs`; anything unsent is lost. Never rejects. */
  async stop(limitMs: number): Promise<void> {
    if (this.#calls !== undefined) this.#parts.observers.remove(this.#calls);
    if (limitMs <= 0) this.#close();
    const sent = Promise.allSettled([this.#metrics?.stop(limitMs), this.#spans?.processor.shutdown()]);
    const isSent = await Promise.race([
      sent.then((results) => results.every(({ status }) => status === 'fulfilled')),
      setTimeout(Math.max(0, limitMs), false, { ref: false }),
    ]);
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
    this.#spans?.exporter.close();
  }

  #signal(signal: Signal): { readonly receiver: Receiver; readonly numbers: SignalNumbers } {
    const { config, env, logger } = this.#parts;
    const { endpoint } = config.otlp;
    if (endpoint === undefined) throw new TypeError('otlp.endpoint must be checked first');
    const numbers = new SignalNumbers(signal, logger);
    this.signals.set(signal, numbers);
    return { numbers, receiver: createReceiver(signal, { config: { ...config.otlp, endpoint }, env, logger }) };
  }
}

/**
 * Identifies the sender. The instance id survives a restart, so that counters continue in the same series. With port 0
 * (any free port) the id has the process id instead.
 */
function describeResource(version: string, { listen }: OtlpParts['config']): Record<string, string> {
  const host = hostname();
  return {
    'service.name': NAME,
    'service.version': version,
    'service.instance.id': `${host}:${listen.port === 0 ? `pid-${process.pid}` : listen.port}`,
    'host.name': host,
  };
}
