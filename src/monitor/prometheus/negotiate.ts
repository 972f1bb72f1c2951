import { parsePreferences } from '../accept-encoding.ts';
import type { ExpositionFormat } from './exposition.ts';

/** Exactly as Prometheus expects them. */
export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

/** Media type and version of each format; a request without a version accepts any. */
const FORMATS: Readonly<Record<string, { readonly format: ExpositionFormat; readonly version: string }>> = {
  'application/openmetrics-text': { format: 'openmetrics', version: '1.0.0' },
  'text/plain': { format: 'text', version: '0.0.4' },
};

/**
 * The format that an `Accept` field prefers (RFC 9110 §12.5.1). OpenMetrics only for clients that name it. All others
 * get text, which every scraper reads, even if they accept neither format.
 */
export function negotiate(accept: string | undefined): ExpositionFormat {
  const weights: Record<ExpositionFormat, number> = { text: 0, openmetrics: 0 };
  for (const { value, parameters, weight } of parsePreferences(accept ?? '')) {
    const wanted = FORMATS[value];
    const version = parameters.get('version') ?? wanted?.version;
    if (wanted === undefined || version !== wanted.version) continue;
    weights[wanted.format] = Math.max(weights[wanted.format], weight);
  }
  return weights.openmetrics > 0 && weights.openmetrics >= weights.text ? 'openmetrics' : 'text';
}
