import { expect, it } from 'vitest';
import { negotiate } from '../../../src/monitor/negotiate.ts';

const OPENMETRICS = 'application/openmetrics-text';

it.each([
  [
    'Prometheus 2.42',
    `${OPENMETRICS};version=1.0.0,${OPENMETRICS};version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`,
  ],
  [
    'Prometheus 3',
    `${OPENMETRICS};version=1.0.0;escaping=allow-utf-8;q=0.5,${OPENMETRICS};version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1`,
  ],
  ['a name without a version', OPENMETRICS],
  ['other letter case, blanks and quotes', `Application/OpenMetrics-Text ; VERSION="1.0.0" ; q=1`],
  ['equal weights for both', `text/plain;q=0.5, ${OPENMETRICS};q=0.5`],
])('negotiate answers OpenMetrics to %s', (_who, accept) => {
  expect(negotiate(accept)).toBe('openmetrics');
});

it.each([
  ['a request without Accept', undefined],
  ['an empty field', ''],
  ['curl', '*/*'],
  ['a browser', 'text/html,application/xhtml+xml,*/*;q=0.8'],
  ['a higher weight for text', `${OPENMETRICS};q=0.4,text/plain;version=0.0.4;q=0.5`],
  ['weight 0 for OpenMetrics', `${OPENMETRICS};q=0`],
  ['another version of OpenMetrics', `${OPENMETRICS};version=2.0.0`],
  ['an unreadable weight', `${OPENMETRICS};q=high`],
  ['a request for neither format', 'application/json'],
])('negotiate answers text to %s', (_who, accept) => {
  expect(negotiate(accept)).toBe('text');
});
