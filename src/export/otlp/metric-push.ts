/**
 * Pushes all metrics of `/metrics` every `otlp.metrics.interval`. It reads the tables in turns of the event loop, as
 * the monitoring port does for an answer. It sends requests of some hundred data points, so that serializing one is
 * short.
 */
import type { HrTime } from '@opentelemetry/api';
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { MetricsExporterMetricsHelper, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer';
import {
  type CollectionResult,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import type { Family } from '../../base/metric-description.ts';
import { LoopShare, type NextTurn } from '../../monitor/loop-share.ts';
import type { Monitored } from '../../monitor/monitored.ts';
import { type CountedExporter, createExporter, type Sending } from './counted-exporter.ts';
import { collectMetrics, type Origin, toHrTime } from './metric-data.ts';

interface MetricPushParts extends Sending, Origin {
  readonly monitored: Pick<Monitored, 'sidecar' | 'createTables'>;
  readonly intervalMs: number;
  readonly nextTurn?: NextTurn | undefined;
}

/** Serializing them takes one turn: about 1 ms (docs/opentelemetry.md says how that was measured). */
const POINTS_PER_REQUEST = 500;
const UNKNOWN_START: HrTime = [0, 0];

export class MetricPush implements MetricProducer, PushMetricExporter {
  readonly #parts: MetricPushParts;
  readonly #exporter: CountedExporter<ResourceMetrics, object>;
  readonly reader: PeriodicExportingMetricReader;
  readonly #share: LoopShare;
  /** A failed request ends its push: the other requests would wait for the same receiver. */
  #hasFailed = false;
  #isClosed = false;

  constructor(parts: MetricPushParts) {
    const { receiver, numbers, userAgent, clock, intervalMs, nextTurn } = parts;
    this.#parts = parts;
    this.#share = new LoopShare(clock, nextTurn);
    this.#exporter = createExporter({
      ...{ receiver, numbers, userAgent, clock, concurrencyLimit: 2 },
      serializer: ProtobufMetricsSerializer,
      counter: MetricsExporterMetricsHelper,
    });
    this.reader = new PeriodicExportingMetricReader({
      ...{ exporter: this, maxExportBatchSize: POINTS_PER_REQUEST },
      // CountedExporter limits each request; this limit only guards against a bug there.
      ...{ exportIntervalMillis: intervalMs, exportTimeoutMillis: intervalMs },
    });
  }

  /** The first push comes after one interval. */
  start(): void {
    this.reader.setMetricProducer(this);
  }

  /** Pushes for the last time, within `limitMs`. */
  async stop(limitMs: number): Promise<void> {
    if (limitMs <= 0) this.close();
    // The reader needs a positive limit; after `close` it only stops its timer.
    await this.reader.shutdown({ timeoutMillis: Math.max(1, limitMs) });
  }

  /** Stops reading and sending at once. */
  close(): void {
    this.#isClosed = true;
    this.#exporter.close();
  }

  /** Reads all tables. Never rejects: a failure is counted, and nothing is sent. */
  async collect(): Promise<CollectionResult> {
    this.#hasFailed = false;
    const { resource, scope, numbers } = this.#parts;
    const empty: CollectionResult = { resourceMetrics: { resource, scopeMetrics: [] }, errors: [] };
    if (this.#isClosed) return empty;
    try {
      const metrics = await this.#read();
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] };
    } catch {
      if (!this.#isClosed) numbers.failed(0, { reason: 'internal' });
      return empty;
    }
  }

  export(batch: ResourceMetrics, onResult: (result: ExportResult) => void): void {
    if (this.#hasFailed) {
      this.#parts.numbers.items.lost += MetricsExporterMetricsHelper.countItems(batch);
      onResult({ code: ExportResultCode.FAILED });
      return;
    }
    this.#exporter.export(batch, (result) => {
      this.#hasFailed = result.code !== ExportResultCode.SUCCESS;
      onResult(result);
    });
  }

  async forceFlush(): Promise<void> {
    await this.#exporter.delegate.forceFlush();
  }

  async shutdown(): Promise<void> {
    await this.#exporter.delegate.shutdown();
  }

  async #read(): Promise<MetricData[]> {
    const { monitored, clock } = this.#parts;
    const process = await monitored.sidecar.readProcess();
    const processStart = toHrTime(process.startTimeSeconds * 1e3);
    const startOf = (table: Family) => (hasUnknownStart(table, monitored) ? UNKNOWN_START : processStart);
    const metrics: MetricData[] = [];
    const steps = collectMetrics(monitored.createTables(process), { startOf, end: toHrTime(clock.epochMs()) }, metrics);
    await this.#inSlices(steps);
    return metrics;
  }

  #inSlices(steps: Iterator<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      const work = (): void => {
        try {
          do {
            if (this.#isClosed) throw new Error('closed');
            if (steps.next().done === true) {
              resolve();
              return;
            }
          } while (!this.#share.isDue);
          this.#share.enter(work);
        } catch (cause) {
          reject(cause);
        }
      };
      this.#share.enter(work);
    });
  }
}

/**
 * The JVM's counters are as old as the JVM, and counters from the state file are older than this process. If they
 * had the start of the process, the receiver would date all of their values after it.
 */
function hasUnknownStart({ name }: Family, { sidecar }: MetricPushParts['monitored']): boolean {
  return name.startsWith('jvm_') || (name.startsWith('d2_') && sidecar.isRestored);
}
