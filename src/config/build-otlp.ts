/** Converts the checked keys of `otlp`, and checks the rules between them. */
import type { Config } from './config.ts';
import type { Conflict } from './conflict.ts';
import type { ParsedConfig } from './schema.ts';

type ParsedOtlp = ParsedConfig['otlp'];

export function buildOtlp({ timeout, metrics, traces, ...otlp }: ParsedOtlp): Config['otlp'] {
  const { endpoint, headersFile, headersEnv, caFile } = otlp;
  return {
    ...{ endpoint, headersFile, headersEnv, caFile, timeoutMs: timeout },
    metrics: { enabled: metrics.enabled, intervalMs: metrics.interval },
    traces: { enabled: traces.enabled, sampleRatio: traces.sampleRatio, slowerThanMs: traces.slowerThan },
  };
}

export function findOtlpConflicts({
  endpoint,
  headersFile,
  headersEnv,
  caFile,
  timeout,
  metrics,
  traces,
}: ParsedOtlp): readonly Conflict[] {
  const conflicts: Conflict[] = [];
  const add = (line: string, ...names: readonly string[]) =>
    conflicts.push({ keys: names.map((name) => `otlp.${name}`), line: `otlp.${line}` });
  if (endpoint === undefined) {
    const other = traces.enabled ? 'traces.enabled' : nameOfSet({ headersFile, headersEnv, caFile });
    if (other !== undefined) add(`endpoint: missing, expected it beside otlp.${other}`, 'endpoint', other);
    return conflicts;
  }
  if (!metrics.enabled && !traces.enabled) {
    const line = 'endpoint: nothing is to be sent there, expected otlp.metrics.enabled or otlp.traces.enabled: true';
    add(line, 'endpoint', 'metrics.enabled', 'traces.enabled');
  }
  if (headersFile !== undefined && headersEnv !== undefined) {
    add('headersEnv: set beside otlp.headersFile, expected one of them', 'headersFile', 'headersEnv');
  }
  if (caFile !== undefined && endpoint.startsWith('http:')) {
    add('caFile: set beside an otlp.endpoint without TLS, expected https:// in otlp.endpoint', 'endpoint', 'caFile');
  }
  if (metrics.enabled && timeout > metrics.interval) {
    const line = 'timeout: longer than otlp.metrics.interval, expected that one push ends before the next begins';
    add(line, 'timeout', 'metrics.interval');
  }
  return conflicts;
}

function nameOfSet(values: Readonly<Record<string, string | undefined>>): string | undefined {
  return Object.entries(values).find(([, value]) => value !== undefined)?.[0];
}
