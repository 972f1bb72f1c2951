/** The keys below `otlp`: metrics and spans that are pushed to an OpenTelemetry receiver. */
import { z } from 'zod';
import * as defaults from './defaults.ts';
import { duration, keyForms, parsedText, section, yesOrNo } from './schema-keys.ts';
import type { Parsed } from './upstream-url.ts';

const ENDPOINT_FORM = 'http://host[:port][/path] or https://…, without user, query or fragment';
const PATH_FORM = 'the path of a file';
const VARIABLE_FORM = 'the name of an environment variable';
const RATIO_FORM = 'a number from 0 to 1';

/** Never repeats the input, which may hold a password. */
function parseEndpoint(text: string): Parsed<string> {
  const isPlain = /^https?:\/\/[^/\\@?#\s]+(?:\/[^\\@?#\s]*)?$/i.test(text) && URL.canParse(text);
  return isPlain
    ? { kind: 'ok', value: new URL(text).href.replace(/\/+$/, '') }
    : { kind: 'bad', expected: ENDPOINT_FORM };
}

function file(pattern: RegExp, description: string) {
  return z
    .string({ error: PATH_FORM })
    .regex(pattern, { error: PATH_FORM })
    .optional()
    .describe(description)
    .register(keyForms, { form: 'text' });
}

const metrics = section(
  {
    enabled: yesOrNo(defaults.DEFAULT_OTLP_METRICS, 'Whether metrics are pushed: all that /metrics shows.'),
    interval: duration(defaults.DEFAULT_OTLP_INTERVAL, 'Between two pushes.', { minMs: 1_000 }),
  },
  'Metrics that are pushed.',
);

const traces = section(
  {
    enabled: yesOrNo(defaults.DEFAULT_OTLP_TRACES, 'Whether spans of calls are pushed.'),
    sampleRatio: z
      .number({ error: RATIO_FORM })
      .min(0, { error: RATIO_FORM })
      .max(1, { error: RATIO_FORM })
      .prefault(defaults.DEFAULT_OTLP_SAMPLE_RATIO)
      .describe('Share of the calls without a traceparent that get a span. With one, its sampled flag decides.')
      .register(keyForms, { form: 'number' }),
    slowerThan: duration(defaults.DEFAULT_OTLP_SLOWER_THAN, 'Only calls that took longer get a span.', {
      zero: 'all of them',
    }),
  },
  'Spans that are pushed, one for each sampled call.',
);

export const otlp = section(
  {
    endpoint: parsedText(parseEndpoint, ENDPOINT_FORM)
      .optional()
      .describe(
        'The receiver of OTLP over HTTP, such as http://127.0.0.1:4318; /v1/metrics and /v1/traces are put behind it. Absent: nothing is sent.',
      )
      .register(keyForms, { form: 'text' }),
    headersFile: file(
      // Refuses a header line in the place of the file's path, because messages would show it.
      /^(?!.*(?:: |=|bearer ))[^\n]+$/i,
      'File with fields to send along, a line Name: value for each, such as Authorization.',
    ),
    headersEnv: z
      .string({ error: VARIABLE_FORM })
      .regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, { error: VARIABLE_FORM })
      .optional()
      .describe('Environment variable with such lines, instead of a file.')
      .register(keyForms, { form: 'text' }),
    caFile: file(
      /^(?!.*-----BEGIN)[^\n]+$/,
      'PEM file with the authorities that sign the certificate there. Absent: those that Node.js knows.',
    ),
    timeout: duration(defaults.DEFAULT_OTLP_TIMEOUT, 'What one request to it may take, repetitions included.', {
      minMs: 100,
    }),
    metrics,
    traces,
  },
  'Metrics and spans for OpenTelemetry, pushed by OTLP over HTTP.',
);
