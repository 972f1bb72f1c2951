/**
 * OpenTelemetry's exporter for OTLP over HTTP with protobuf, assembled from its parts instead of used whole, for three
 * reasons. It then ignores environment variables that are meant for other programs. It sees what the receiver rejects.
 * And it bounds the total time of a request, where OpenTelemetry's own limit only bounds silence.
 */
import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import type { IExporterMetricsHelper, ISerializer } from '@opentelemetry/otlp-transformer';
import type { Clock } from '../../base/clock.ts';
import { CodedAnswerError, OtlpFileError, type Receiver } from './receiver.ts';
import type { Failure, SignalNumbers } from './signal-numbers.ts';

/** The count in a partial success, under the name of each signal; a string where a double cannot hold it. */
interface PartialSuccess {
  readonly rejectedDataPoints?: number | string | undefined;
  readonly rejectedSpans?: number | string | undefined;
}

export interface Sending {
  readonly receiver: Receiver;
  readonly numbers: SignalNumbers;
  readonly userAgent: string;
  readonly clock: Clock;
}

interface CountedExporterParts<Items, Response> extends Sending {
  readonly serializer: ISerializer<Items, Response & { readonly partialSuccess?: PartialSuccess | undefined }>;
  readonly counter: IExporterMetricsHelper<Items>;
  /** Concurrent requests; more are refused. */
  readonly concurrencyLimit: number;
}

export function createExporter<Items, Response>(parts: CountedExporterParts<Items, Response>) {
  const { receiver, numbers, userAgent, clock, serializer, counter, concurrencyLimit } = parts;
  /** Of the answer that is being read; 0 without a body. The delegate only reports that there was an answer. */
  let rejected = 0;
  let isClosed = false;
  const watchedSerializer: ISerializer<Items, Response> = {
    serializeRequest: (items) => {
      const beganNs = clock.nowNs();
      const bytes = serializer.serializeRequest(items);
      numbers.longestSerializationNs = Math.max(numbers.longestSerializationNs, clock.nowNs() - beganNs);
      return bytes;
    },
    deserializeResponse: (bytes) => {
      const response = serializer.deserializeResponse(bytes);
      const { rejectedDataPoints, rejectedSpans } = response.partialSuccess ?? {};
      rejected = Math.max(0, Number(rejectedDataPoints ?? rejectedSpans) || 0);
      return response;
    },
  };
  const options = {
    ...{ url: receiver.url, timeoutMillis: receiver.timeoutMs, concurrencyLimit, userAgent },
    compression: 'none' as const,
    headers: () => receiver.headers(),
    agentFactory: () => receiver.agent,
  };
  const delegate = createOtlpHttpExportDelegate(options, watchedSerializer, 'otlp', counter, undefined);
  return {
    delegate,
    /** Calls `onResult` once, within `otlp.timeout`. */
    export(items: Items, onResult: (result: ExportResult) => void): void {
      const count = counter.countItems(items);
      let isOver = false;
      const end = (result: ExportResult, failure?: Failure): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        if (result.code === ExportResultCode.SUCCESS) {
          numbers.succeeded(count, Math.min(count, rejected));
          rejected = 0;
        } else numbers.failed(count, failure ?? classifyFailure(result.error));
        onResult(result);
      };
      const timer = setTimeout(() => {
        end({ code: ExportResultCode.FAILED }, { reason: 'timeout' });
        receiver.disconnect();
      }, receiver.timeoutMs);
      timer.unref();
      if (isClosed) end({ code: ExportResultCode.FAILED }, { reason: 'timeout' });
      else delegate.export(items, end);
    },
    /** Aborts pending requests and sends nothing more. */
    close(): void {
      isClosed = true;
      receiver.disconnect();
    },
  };
}

export type CountedExporter<Items, Response> = ReturnType<typeof createExporter<Items, Response>>;

const UNREACHABLE: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN'],
  ...['EADDRNOTAVAIL', 'EMFILE', 'ENFILE'],
]);
const TLS_CODE = /^(?:ERR_(?:SSL|TLS)_|CERT_|EPROTO$|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_CA)/;

/** Classifies a failed export. The receiver's text is never passed on: it may quote the request. */
function classifyFailure(error: unknown): Failure {
  if (error instanceof OtlpFileError) return { reason: 'files', detail: error.message };
  if (error instanceof CodedAnswerError) return { reason: 'refused', detail: error.message };
  const code = (error as { code?: unknown } | undefined)?.code;
  if (typeof code === 'number')
    return { reason: code === 401 || code === 403 ? 'unauthorized' : 'refused', status: code };
  if (typeof code === 'string') {
    if (code === 'ETIMEDOUT') return { reason: 'timeout' };
    if (TLS_CODE.test(code)) return { reason: 'tls', detail: code };
    if (UNREACHABLE.has(code) || code.startsWith('HPE_')) return { reason: 'unreachable', detail: code };
    return { reason: 'internal', detail: code };
  }
  const message = error instanceof Error ? error.message : '';
  // Messages of the exporter, in the one version that is built in; a test checks them.
  if (message === 'Request timed out') return { reason: 'timeout' };
  if (message === 'Export failed with retryable status') return { reason: 'unavailable' };
  return { reason: 'internal' };
}
