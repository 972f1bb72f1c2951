/** The keys below `otlp`: metrics and spans that are pushed to an OpenTelemetry receiver. */
import type { z } from 'zod';
import {
  authoritiesFile,
  type Conflict,
  duration,
  httpUrl,
  oneOf,
  optionalText,
  section,
  share,
  yesOrNo,
} from './schema-keys.ts';

export const otlp = section(
  'restart',
  'Metrics and spans for OpenTelemetry, pushed by OTLP over HTTP: see [opentelemetry.md](opentelemetry.md).',
  {
    endpoint: httpUrl()
      .transform((url) => url.replace(/\/+$/, ''))
      .optional()
      .meta({
        description: 'URL of the receiver, without `/v1/metrics` and `/v1/traces`. Absent: nothing is sent.',
        examples: ['http://127.0.0.1:4318'],
      }),
    headersFile: optionalText(
      'the path of a file',
      // Refuses a header line given instead of the file's path: messages would show it.
      /^(?!.*(?:: |=|bearer ))[^\n]+$/i,
      '/etc/d2-sidecar/otlp-headers',
      'File of fields to send, such as `Authorization`: a line `Name: value` for each.',
    ).meta({ hide: 'value' }),
    headersEnv: optionalText(
      'the name of an environment variable',
      /^[A-Za-z_][A-Za-z0-9_]{0,127}$/,
      'OTLP_FIELDS',
      'Environment variable with such lines, instead of a file.',
    ).meta({ hide: 'value' }),
    caFile: authoritiesFile('/etc/d2-sidecar/ca.pem'),
    timeout: duration('10s', 'Longest time for one request, retries included. At most `otlp.metrics.interval`.', {
      minMs: 100,
    }),
    metrics: section('restart', 'Metrics that are pushed.', {
      enabled: yesOrNo(true, 'Whether the metrics of `/metrics` are pushed.'),
      // The default of OpenTelemetry's own readers.
      interval: duration('60s', 'Time between two pushes.', { minMs: 1_000 }),
      histograms: oneOf(
        ['explicit', 'exponential'],
        'explicit',
        'Buckets of durations: `explicit`, as in `/metrics`, or `exponential`, whose percentiles are at most 2.2 % off.',
      ),
    }),
    traces: section('restart', 'Spans that are pushed, one for each sampled call.', {
      // Spans take space at the receiver for each call.
      enabled: yesOrNo(false, 'Whether spans of calls are pushed.'),
      // By default the sidecar follows the caller's sampling decision and samples nothing else.
      sampleRatio: share(
        0,
        'Share (0 to 1) of calls without a `traceparent` that get a span. With one, its sampled flag decides.',
      ),
      slowerThan: duration(0, 'Only calls that took longer get a span. 0: all of them.', { zero: 'all of them' }),
    }),
  },
).meta({ hide: 'value' });

export function findOtlpConflicts({ endpoint, timeoutMs, metrics, traces, ...access }: z.output<typeof otlp>) {
  const { headersFile, headersEnv, caFile } = access;
  const conflicts: Conflict[] = [];
  const add = (line: string, ...names: readonly string[]) =>
    conflicts.push({ keys: names.map((name) => `otlp.${name}`), line: `otlp.${line}` });
  if (endpoint === undefined) {
    const written = Object.entries({ headersFile, headersEnv, caFile }).find(([, value]) => value !== undefined);
    const other = traces.enabled ? 'traces.enabled' : written?.[0];
    if (other !== undefined) add(`endpoint: missing, required with otlp.${other}`, 'endpoint', other);
    return conflicts;
  }
  if (!metrics.enabled && !traces.enabled) {
    const line = 'endpoint: set, but nothing is sent, expected otlp.metrics.enabled or otlp.traces.enabled: true';
    add(line, 'endpoint', 'metrics.enabled', 'traces.enabled');
  }
  if (headersFile !== undefined && headersEnv !== undefined) {
    add('headersEnv: cannot be combined with otlp.headersFile', 'headersFile', 'headersEnv');
  }
  if (caFile !== undefined && endpoint.startsWith('http:')) {
    add('caFile: has no effect without TLS, expected https:// in otlp.endpoint', 'endpoint', 'caFile');
  }
  if (metrics.enabled && timeoutMs > metrics.intervalMs) {
    const line = 'timeout: longer than otlp.metrics.interval, expected at most that';
    add(line, 'timeout', 'metrics.interval');
  }
  return conflicts;
}
