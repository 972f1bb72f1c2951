/** Pushes spans from a bounded queue, every few seconds, or sooner when a request is full. */

import type { ExportResult } from '@opentelemetry/core';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter } from '@opentelemetry/sdk-trace-base';
import type { Clock } from '../../base/clock.ts';
import { CountedExporter } from './counted-exporter.ts';
import type { Receiver } from './receiver.ts';
import type { SignalNumbers } from './signal-numbers.ts';

export interface SpanPushParts {
  readonly receiver: Receiver;
  readonly numbers: SignalNumbers;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly delayMs?: number;
}

/** About 1 KB each. */
export const MAX_WAITING_SPANS = 2_048;
const SPANS_PER_REQUEST = 256;
const DELAY_MS = 5_000;

export class SpanPush implements SpanExporter {
  readonly #numbers: SignalNumbers;
  readonly #exporter: CountedExporter<ReadableSpan[], object>;
  readonly #processor: BatchSpanProcessor;
  #waiting = 0;

  constructor({ receiver, numbers, userAgent, clock, delayMs = DELAY_MS }: SpanPushParts) {
    this.#numbers = numbers;
    this.#exporter = new CountedExporter({
      ...{ receiver, numbers, userAgent, clock },
      // A flush sends the whole queue at once.
      concurrencyLimit: MAX_WAITING_SPANS / SPANS_PER_REQUEST + 1,
      serializer: ProtobufTraceSerializer,
      counter: TraceExporterMetricsHelper,
    });
    this.#processor = new BatchSpanProcessor(this, {
      ...{ maxQueueSize: MAX_WAITING_SPANS, maxExportBatchSize: SPANS_PER_REQUEST, scheduledDelayMillis: delayMs },
      // CountedExporter limits each request; this limit only guards against a bug there.
      exportTimeoutMillis: 2 * receiver.timeoutMs,
    });
  }

  /** Spans that are queued or being sent. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Creates no span when the queue is full. */
  readonly take = (createSpan: () => ReadableSpan): void => {
    if (this.#waiting >= MAX_WAITING_SPANS) {
      this.#numbers.items.dropped += 1;
      return;
    }
    const span = createSpan();
    this.#waiting += 1;
    this.#processor.onEnd(span);
  };

  export(spans: ReadableSpan[], onResult: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#waiting -= spans.length;
      onResult(result);
    });
  }

  async shutdown(): Promise<void> {
    await this.#exporter.shutdown();
  }

  async flush(): Promise<void> {
    await this.#processor.forceFlush();
  }

  /** Sends the queue, and accepts no more spans. */
  async stop(): Promise<void> {
    await this.#processor.shutdown();
  }

  close(): void {
    this.#exporter.close();
  }
}
