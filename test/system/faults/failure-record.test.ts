import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  classifyUpstreamFailure,
  FailureRecord,
  UPSTREAM_FAILURE_CODES,
  UpstreamFailure,
} from '../../../src/proxy/exchange/upstream-failure.ts';
import { ManualClock } from '../../support/clock.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

it('a failure of the upstream is logged at once, and then at most every ten seconds by code, with how many it stands for', () => {
  const clock = new ManualClock();
  const { logger, logged } = recordingLogger();
  const record = new FailureRecord(clock, logger);
  const withCode = (code: string) => Object.assign(new Error('secret of a request'), { code });
  record.record(classifyUpstreamFailure(withCode('GET /secret'), 'response'));
  for (let second = 0; second < 25; second += 1) {
    record.record(classifyUpstreamFailure(withCode('ECONNREFUSED'), 'connect'));
    clock.advanceS(1);
  }
  expect(logged.map(({ details }) => details)).toEqual([
    { code: 'D2S_ERR_UPSTREAM_INCOMPLETE', failed: 1 },
    ...[1, 10, 10].map((failed) => ({ code: 'D2S_ERR_UPSTREAM_REFUSED', reason: 'ECONNREFUSED', failed })),
  ]);
  expect(JSON.stringify(logged)).not.toContain('secret');
});

it('docs/errors.md says for each failure what the client sees', () => {
  const faults = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  // Caused by a limit: see docs/limits.md.
  const codes = UPSTREAM_FAILURE_CODES.filter((code) => code !== 'D2S_ERR_UPSTREAM_BUSY');
  expect(codes.filter((code) => !faults.includes(`\`${code}\``))).toEqual([]);
  // Once an answer has begun, no error can be sent.
  for (const code of codes.filter((each) => each !== 'D2S_ERR_UPSTREAM_INCOMPLETE')) {
    const failure = new UpstreamFailure(code);
    const error = failure.proxyError.replace(/^tls_.*/, 'tls_…');
    expect(faults).toContain(`${failure.status} \`${error}\``);
  }
});

it.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAI_MEMORY'])(
  'a connection that cannot be opened for %s is blamed on the sidecar',
  (code) => {
    const failure = classifyUpstreamFailure(Object.assign(new Error(), { code }), 'connect');
    expect([failure.code, failure.status]).toEqual(['D2S_ERR_UPSTREAM_RESOURCES', 503]);
  },
);
