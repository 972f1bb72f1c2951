/** The keys below `otlp`: metrics and spans that are pushed to an OpenTelemetry receiver. */
import type { z } from 'zod';
import * as key from './schema-keys.ts';

export const otlp = key
  .section(
    'restart',
    'Metrics and spans for OpenTelemetry, pushed by OTLP over HTTP: see [opentelemetry.md](opentelemetry.md).',
    {
      endpoint: key.optional(
        key.httpUrl().transform((url) => url.replace(/\/+$/, '')),
        'http://127.0.0.1:4318',
        'URL of the receiver, without `/v1/metrics` and `/v1/traces`. Absent: nothing is sent.',
      ),
      headersFile: key.hiddenText(
        'the path of a file',
        // Refuses a header line given instead of the file's path: messages would show it.
        /^(?!.*(?:: |=|bearer ))[^\n]+$/i,
        '/etc/d2-sidecar/otlp-headers',
        'File of fields to send, such as `Authorization`: lines `Name: value`.',
      ),
      headersEnv: key.hiddenText(
        'the name of an environment variable',
        /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
        'OTLP_FIELDS',
        'Environment variable with such lines, instead of a file.',
      ),
      caFile: key.authoritiesFile('/etc/d2-sidecar/ca.pem'),
      timeout: key.duration('10s', 'Longest time for one request, retries included. At most `otlp.metrics.interval`.', {
        minMs: 100,
      }),
      metrics: key.section('restart', 'Metrics that are pushed.', {
        enabled: key.yesOrNo(true, 'Whether the metrics of `/metrics` are pushed.'),
        // The default of OpenTelemetry's own readers.
        interval: key.duration('60s', 'Time between two pushes.', { minMs: 1_000 }),
        histograms: key.oneOf(
          ['explicit', 'exponential'],
          'explicit',
          'Buckets of durations: `explicit`, as in `/metrics`, or `exponential`, whose percentiles are at most 2.2 % off.',
        ),
      }),
      traces: key.section('restart', 'Spans that are pushed, one for each sampled call.', {
        // Spans take space at the receiver for each call.
        enabled: key.yesOrNo(false, 'Whether spans of calls are pushed.'),
        // By default the sidecar follows the caller's sampling decision and samples nothing else.
        sampleRatio: key.share(
          0,
          'Share (0 to 1) of calls without a `traceparent` that get a span; with one, its sampled flag decides.',
        ),
        slowerThan: key.duration(0, 'Only calls that took longer get a span. 0: all of them.', { zero: 'all of them' }),
      }),
    },
  )
  .meta({ hide: 'value' });

export function* findOtlpConflicts(parsed: z.output<typeof otlp>): Generator<key.Conflict> {
  const { endpoint, timeoutMs, metrics, traces, headersFile, headersEnv, caFile } = parsed;
  const { conflict, missing } = key.conflictsBelow('otlp');
  if (endpoint === undefined) {
    const written = Object.entries({ headersFile, headersEnv, caFile }).find(([, value]) => value !== undefined);
    const other = traces.enabled ? 'traces.enabled' : written?.[0];
    if (other !== undefined) yield missing('endpoint', other);
    return;
  }
  if (!metrics.enabled && !traces.enabled) {
    const line = 'endpoint: set, but nothing is sent, expected otlp.metrics.enabled or otlp.traces.enabled: true';
    yield conflict(line, 'endpoint', 'metrics.enabled', 'traces.enabled');
  }
  if (headersFile !== undefined && headersEnv !== undefined)
    yield conflict('headersEnv: cannot be combined with otlp.headersFile', 'headersFile', 'headersEnv');
  if (caFile !== undefined && endpoint.startsWith('http:'))
    yield conflict('caFile: has no effect without TLS, expected https:// in otlp.endpoint', 'endpoint', 'caFile');
  if (metrics.enabled && timeoutMs > metrics.intervalMs) {
    const line = 'timeout: longer than otlp.metrics.interval, expected at most that';
    yield conflict(line, 'timeout', 'metrics.interval');
  }
}
