import { expect, it } from 'vitest';
import { negotiate } from '../../../src/monitor/negotiate.ts';

const OPENMETRICS = 'application/openmetrics-text';

it.each([
  [
    'Prometheus 3',
    `${OPENMETRICS};version=1.0.0;escaping=allow-utf-8;q=0.5,${OPENMETRICS};version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1`,
    'openmetrics',
  ],
  ['a name without a version', OPENMETRICS, 'openmetrics'],
  ['other letter case, blanks and quotes', `Application/OpenMetrics-Text ; VERSION="1.0.0" ; q=1`, 'openmetrics'],
  ['equal weights for both', `text/plain;q=0.5, ${OPENMETRICS};q=0.5`, 'openmetrics'],
  ['a request without Accept', undefined, 'text'],
  ['a browser', 'text/html,application/xhtml+xml,*/*;q=0.8', 'text'],
  ['a higher weight for text', `${OPENMETRICS};q=0.4,text/plain;version=0.0.4;q=0.5`, 'text'],
  ['another version of OpenMetrics', `${OPENMETRICS};version=2.0.0`, 'text'],
  ['an unreadable weight', `${OPENMETRICS};q=high`, 'text'],
])('negotiate answers %s, which asks by %j, with %s', (_who, accept, format) => {
  expect(negotiate(accept)).toBe(format);
});
