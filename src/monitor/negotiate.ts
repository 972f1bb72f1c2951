import type { ExpositionFormat } from './prometheus/exposition.ts';
/** Codings of the stored page files, the best one first. */
export const CODINGS = ['br', 'gzip'] as const;

export type Coding = (typeof CODINGS)[number];

/** Members of a list in a request's field, and parameters of a member, that are read; the rest is ignored. */
export const MAX_MEMBERS = 64;

/**
 * The members of a field such as Accept (RFC 9110 §12.4.2), e.g. `text/plain;version=0.0.4;q=0.5`, in lower case. An
 * unreadable weight counts as 0.
 */
export function parsePreferences(field: string) {
  return field
    .toLowerCase()
    .split(',', MAX_MEMBERS)
    .map((member) => {
      const [value = '', ...rest] = member.split(';', MAX_MEMBERS).map((part) => part.trim());
      const parameters = new Map(
        rest.map((part) => part.split('=', 2)).map(([name = '', text = '']) => [name, text.replaceAll('"', '')]),
      );
      return { value, parameters, weight: parseWeight(parameters.get('q') ?? '1') };
    });
}

function parseWeight(text: string): number {
  return /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(text) ? Number(text) : 0;
}

/**
 * The best coding that `field`, an Accept-Encoding, accepts, e.g. `gzip` for `gzip, deflate, br;q=0`. Undefined means
 * unencoded, even if the client does not accept that. RFC 9110 §12.5.3.
 */
export function negotiateCoding(field: string | undefined, kept: readonly Coding[] = CODINGS): Coding | undefined {
  const weights = new Map(parsePreferences(field ?? '').map(({ value, weight }) => [value, weight]));
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  const accepted = kept.filter((coding) => weightOf(coding) > 0);
  return accepted.sort((one, other) => weightOf(other) - weightOf(one))[0];
}

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
