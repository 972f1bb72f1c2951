/** The cost of pushing for the event loop: reading the tables, writing one request, and recording a call. */
import {
  MetricsExporterMetricsHelper,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
} from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import type { MetricData, ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { bench, describe } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { CallSpans } from '../../src/export/otlp/call-spans.ts';
import { collectMetrics } from '../../src/export/otlp/metric-data.ts';
import type { EndedCall } from '../../src/measure/record/call-observer.ts';
import { createPlant } from '../support/monitor/prometheus/plant.ts';

const plant = await createPlant();
for (let i = 0; i < 2_000; i += 1) {
  plant.statistics.rpc.recordAnswered(`E.Plant.Method${i}`, 200, i * 1e4);
  plant.statistics.sba.recordAnswered(`E.Plant.Method${i}`, 200, i * 1e4);
}
for (let i = 0; i < 10_000; i += 1) plant.statistics.object.recordRead(`H.Plant.Object${i}`, 200);
const reading = await plant.monitored.sidecar.readProcess();
const resource = resourceFromAttributes({ 'service.name': 'd2-sidecar' });
const scope = { name: 'd2-sidecar', version: '1' };

function collect(): MetricData[] {
  const metrics: MetricData[] = [];
  const times = { startOf: () => [1, 0] as [number, number], end: [2, 0] as [number, number] };
  for (const _step of collectMetrics(plant.monitored.toTables(reading), times, metrics));
  return metrics;
}

const metrics = collect();
const requestOf = (name: string, points: number): ResourceMetrics => {
  const metric = metrics.find(({ descriptor }) => descriptor.name === name) as MetricData;
  const dataPoints = metric.dataPoints.slice(0, points) as never;
  return { resource, scopeMetrics: [{ scope, metrics: [{ ...metric, dataPoints } as MetricData] }] };
};
const histograms = requestOf('d2_call_duration_seconds', 500);
const counters = requestOf('d2_calls_total', 500);
const all: ResourceMetrics = { resource, scopeMetrics: [{ scope, metrics }] };

describe(`full tables, ${MetricsExporterMetricsHelper.countItems(all)} data points`, () => {
  bench('read all, in one go', () => void collect());
  bench('write 500 histograms', () => void ProtobufMetricsSerializer.serializeRequest(histograms));
  bench('write 500 counters', () => void ProtobufMetricsSerializer.serializeRequest(counters));
  bench('write all, in one go (never done)', () => void ProtobufMetricsSerializer.serializeRequest(all));
});

const call: EndedCall = {
  ...{ kind: 'rpc', name: 'E.Demo.Test', application: 'smartWeb', isComet: false, method: 'POST', status: 200 },
  ...{ outcome: 'answered', errorCode: undefined, path: 'relay', remoteAddress: '10.0.0.7', requestBytes: 1 },
  ...{
    beganNs: 0,
    endedNs: 1e6,
    responseBytes: 2,
    traceparent: undefined,
    ownTraceparent: undefined,
    session: undefined,
  },
};
const traced = { ...call, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
const unsampled = { ...call, traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00' };
const taken: ReadableSpan[] = [];
const parts = { resource, scope, clock: systemClock, slowerThanMs: 0 };
const take = (create: () => ReadableSpan): void => {
  taken[0] = create();
};
const none = new CallSpans({ ...parts, sampleRatio: 0, take });
const every = new CallSpans({ ...parts, sampleRatio: 1, take });
every.callEnded(call);
const spans = Array.from({ length: 256 }, () => taken[0] as ReadableSpan);

describe('a call', () => {
  bench('without a traceparent, not sampled', () => none.callEnded(call));
  bench('with a traceparent, not sampled', () => none.callEnded(unsampled));
  bench('sampled', () => every.callEnded(call));
  bench('sampled by its traceparent', () => none.callEnded(traced));
  bench('write 256 spans', () => void ProtobufTraceSerializer.serializeRequest(spans));
});
