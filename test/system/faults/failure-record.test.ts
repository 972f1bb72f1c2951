import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  classifyUpstreamFailure,
  FailureRecord,
  reasonOf,
  UPSTREAM_FAILURE_CODES,
  UpstreamFailure,
} from '../../../src/proxy/exchange/upstream-failure.ts';
import { ManualClock } from '../../support/clock.ts';
import { recordingLogger } from '../../support/wire/recording-logger.ts';

const withCode = (code: string, message = 'secret of a request') => Object.assign(new Error(message), { code });

function recorded() {
  const clock = new ManualClock();
  const { logger, logged } = recordingLogger();
  return { record: new FailureRecord(clock, logger), logged, clock };
}

describe('a failure of the upstream', () => {
  it('is counted by code, and every code is there from the start', () => {
    const { record } = recorded();
    expect([...record.counts]).toEqual(UPSTREAM_FAILURE_CODES.map((code) => [code, 0]));
    record.record(new UpstreamFailure('D2S_ERR_UPSTREAM_TIMEOUT'));
    record.record(new UpstreamFailure('D2S_ERR_UPSTREAM_TIMEOUT'));
    expect(record.counts.get('D2S_ERR_UPSTREAM_TIMEOUT')).toBe(2);
  });

  it('is logged at once, and then at most every ten seconds, with how many it stands for', () => {
    const { record, logged, clock } = recorded();
    const refused = classifyUpstreamFailure(withCode('ECONNREFUSED'), 'connect');
    for (let second = 0; second < 25; second += 1) {
      record.record(refused);
      clock.advanceS(1);
    }
    expect(logged.map(({ details }) => details.failed)).toEqual([1, 10, 10]);
    expect(JSON.stringify(logged)).not.toContain('secret');
  });

  it('is logged for each code separately', () => {
    const { record, logged } = recorded();
    record.record(classifyUpstreamFailure(withCode('ECONNREFUSED'), 'connect'));
    record.record(classifyUpstreamFailure(withCode('ECONNRESET'), 'response'));
    expect(logged.map(({ details }) => details)).toEqual([
      { code: 'D2S_ERR_UPSTREAM_REFUSED', reason: 'ECONNREFUSED', failed: 1 },
      { code: 'D2S_ERR_UPSTREAM_INCOMPLETE', reason: 'ECONNRESET', failed: 1 },
    ]);
  });

  it('is not logged where another log line says more', () => {
    const { record, logged } = recorded();
    const codes = ['D2S_ERR_UPSTREAM_BUSY', 'D2S_ERR_UPSTREAM_TLS'] as const;
    for (const code of codes) record.record(new UpstreamFailure(code));
    expect([codes.map((code) => record.counts.get(code)), logged]).toEqual([[1, 1], []]);
  });
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

describe('a connection that cannot be opened', () => {
  it.each(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAI_MEMORY'])(
    'is blamed on the sidecar for %s',
    (code) => {
      const failure = classifyUpstreamFailure(withCode(code), 'connect');
      expect([failure.code, failure.status, failure.proxyError]).toEqual([
        ...['D2S_ERR_UPSTREAM_RESOURCES', 503, 'connection_limit_reached'],
      ]);
    },
  );

  it('gives no reason that is not a code', () => {
    expect(reasonOf(classifyUpstreamFailure(withCode('GET /secret'), 'connect'))).toBeUndefined();
    expect(reasonOf(new UpstreamFailure('D2S_ERR_UPSTREAM_TIMEOUT'))).toBeUndefined();
  });
});
