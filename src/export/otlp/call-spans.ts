/**
 * Makes a span of each sampled call, after the call has ended, so that no call waits for it. docs/opentelemetry.md says
 * which calls, and what a span has. The server's span is its child, or its sibling where the trace context passes
 * unchanged: with `slowerThan` only the end decides on a span, and over Comet a request carries many calls.
 */
import { type Attributes, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { type ExportResult, parseTraceParent } from '@opentelemetry/core';
import { ProtobufTraceSerializer, TraceExporterMetricsHelper } from '@opentelemetry/otlp-transformer';
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import { type Clock, NS_PER_MS, NS_PER_S } from '../../base/clock.ts';
import {
  type CallObserver,
  type EndedCall,
  isError,
  MAX_TRACEPARENT_CHARS,
  toEpochMs,
} from '../../measure/record/call-observer.ts';
import { detached } from '../../protocol/http1/text.ts';
import { type CountedExporter, createExporter, type Sending } from './counted-exporter.ts';
import { escapeHalfPairs, type Origin, toHrTime } from './metric-data.ts';
import type { SignalNumbers } from './signal-numbers.ts';

export interface CallSpansParts extends Origin {
  readonly sampleRatio: number;
  readonly slowerThanMs: number;
  readonly clock: Clock;
  /** Takes a span, or drops it without creating it when the queue is full. */
  readonly take: (createSpan: () => ReadableSpan) => void;
  /** At least 0 and less than 1; for tests. */
  readonly random?: () => number;
}

/** RFC 9110 §9 and RFC 5789. Anything else becomes `_OTHER`, so that clients cannot create new values. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'CONNECT', 'OPTIONS', 'TRACE', 'PATCH'] as const;
const MAX_NAME_CHARS = 256;

export class CallSpans implements CallObserver {
  readonly wantsBytes = false;
  readonly wantsOthers = false;
  readonly #parts: CallSpansParts;
  readonly #ids = new RandomIdGenerator();

  constructor(parts: CallSpansParts) {
    this.#parts = parts;
  }

  /** The `traceparent` of the call's span; undefined without a span, or while that is undecided. */
  traceparentFor(traceparent: string | undefined): string | undefined {
    if (this.#parts.slowerThanMs > 0) return undefined;
    const parent = parseParent(traceparent);
    if (!this.#isSampled(parent)) return undefined;
    const { traceId, spanId, traceFlags } = this.#createContext(parent);
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  callEnded(call: EndedCall): void {
    const { slowerThanMs, take } = this.#parts;
    if (slowerThanMs > 0 && call.durationNs <= slowerThanMs * NS_PER_MS) return;
    const parent = parseParent(call.traceparent);
    const own = parseParent(call.ownTraceparent);
    const isDecided = !call.isComet && slowerThanMs === 0;
    if (own === undefined && (isDecided || !this.#isSampled(parent))) return;
    take(() => this.#createSpan(call, parent, own ?? this.#createContext(parent)));
  }

  #isSampled(parent: SpanContext | undefined): boolean {
    if (parent !== undefined) return (parent.traceFlags & TraceFlags.SAMPLED) !== 0;
    const { random = Math.random, sampleRatio } = this.#parts;
    return random() < sampleRatio;
  }

  #createContext(parent: SpanContext | undefined): SpanContext {
    return {
      traceId: parent?.traceId ?? this.#ids.generateTraceId(),
      spanId: this.#ids.generateSpanId(),
      traceFlags: parent?.traceFlags ?? TraceFlags.SAMPLED,
    };
  }

  #createSpan(call: EndedCall, parent: SpanContext | undefined, { traceId, spanId }: SpanContext): ReadableSpan {
    const { resource, scope, clock } = this.#parts;
    const context: SpanContext = { traceId, spanId, traceFlags: TraceFlags.SAMPLED };
    const durationMs = (call.endedNs - call.beganNs) / NS_PER_MS;
    const endMs = toEpochMs(clock, call.endedNs);
    return {
      name: `${call.kind} ${formatName(call)}`,
      kind: SpanKind.SERVER,
      spanContext: () => context,
      ...(parent === undefined ? {} : { parentSpanContext: parent }),
      startTime: toHrTime(endMs - durationMs),
      endTime: toHrTime(endMs),
      duration: toHrTime(durationMs),
      status: { code: isError(call) ? SpanStatusCode.ERROR : SpanStatusCode.UNSET },
      attributes: createAttributes(call),
      ...{ links: [], events: [], ended: true, resource, instrumentationScope: scope },
      ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
    };
  }
}

/** Parses a `traceparent` (W3C Trace Context §3.2); an unreadable one counts as none. */
function parseParent(traceparent: string | undefined): SpanContext | undefined {
  if (traceparent === undefined || traceparent.length > MAX_TRACEPARENT_CHARS) return undefined;
  // A copy, since a substring would keep the request's head in memory until the span is sent.
  const parent = parseTraceParent(detached(traceparent));
  return parent === null ? undefined : { ...parent, isRemote: true };
}

function formatName({ name }: EndedCall): string {
  return escapeHalfPairs(name.length > MAX_NAME_CHARS ? detached(name.slice(0, MAX_NAME_CHARS)) : name);
}

function createAttributes(call: EndedCall): Attributes {
  const { method, status, errorCode, application, isComet, remoteAddress } = call;
  const attributes: Attributes = {
    'd2.application': escapeHalfPairs(application ?? ''),
    'd2.call.kind': call.kind,
    'd2.call.name': formatName(call),
    'd2.call.outcome': call.outcome,
    'd2.call.transport': isComet ? 'comet' : 'rest',
    'client.address': remoteAddress,
    'd2.call.client_wait': call.clientWaitNs / NS_PER_S,
  };
  if (call.firstByteNs > 0) attributes['d2.call.first_byte'] = (call.firstByteNs - call.beganNs) / NS_PER_S;
  if (isError(call)) attributes['error.type'] = errorCode ?? String(status);
  // A Bayeux message has neither method nor status; this status is the HTTP response's.
  if (isComet) return attributes;
  attributes['http.request.method'] = METHODS.find((known) => known === method) ?? '_OTHER';
  if (status > 0) attributes['http.response.status_code'] = status;
  return attributes;
}

/** About 1 KB each. */
export const MAX_WAITING_SPANS = 2_048;
const SPANS_PER_REQUEST = 256;
const DELAY_MS = 5_000;

/** Pushes spans from a bounded queue, every few seconds, or sooner when a request is full. */
export class SpanPush implements SpanExporter {
  /** Spans that are queued or being sent. */
  waiting = 0;
  readonly #numbers: SignalNumbers;
  readonly exporter: CountedExporter<ReadableSpan[], object>;
  readonly processor: BatchSpanProcessor;

  constructor({ receiver, numbers, userAgent, clock, delayMs = DELAY_MS }: Sending & { readonly delayMs?: number }) {
    this.#numbers = numbers;
    this.exporter = createExporter({
      ...{ receiver, numbers, userAgent, clock },
      // A flush sends the whole queue at once.
      concurrencyLimit: MAX_WAITING_SPANS / SPANS_PER_REQUEST + 1,
      serializer: ProtobufTraceSerializer,
      counter: TraceExporterMetricsHelper,
    });
    this.processor = new BatchSpanProcessor(this, {
      ...{ maxQueueSize: MAX_WAITING_SPANS, maxExportBatchSize: SPANS_PER_REQUEST, scheduledDelayMillis: delayMs },
      // CountedExporter limits each request; this limit only guards against a bug there.
      exportTimeoutMillis: 2 * receiver.timeoutMs,
    });
  }

  /** Creates no span when the queue is full. */
  readonly take = (createSpan: () => ReadableSpan): void => {
    if (this.waiting >= MAX_WAITING_SPANS) {
      this.#numbers.items.dropped += 1;
      return;
    }
    const span = createSpan();
    this.waiting += 1;
    this.processor.onEnd(span);
  };

  export(spans: ReadableSpan[], onResult: (result: ExportResult) => void): void {
    this.exporter.export(spans, (result) => {
      this.waiting -= spans.length;
      onResult(result);
    });
  }

  async shutdown(): Promise<void> {
    await this.exporter.delegate.shutdown();
  }
}
