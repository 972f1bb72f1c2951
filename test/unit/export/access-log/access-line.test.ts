import { expect, it } from 'vitest';
import { formatAccessLine } from '../../../../src/export/access-log/access-log.ts';
import type { EndedCall } from '../../../../src/measure/record/call-observer.ts';
import { endedCall } from '../../../support/export/access-log/ended-call.ts';

const TIME = '2026-03-01T08:00:00.123Z';

function fieldsOf(change: Parameters<typeof endedCall>[0], hasUsers = true): Record<string, unknown> {
  const line = formatAccessLine(endedCall(change), TIME, hasUsers);
  expect(line.indexOf('\n')).toBe(line.length - 1);
  return JSON.parse(line) as Record<string, unknown>;
}

it('a line of the access log has everything that is known about a call', () => {
  expect(fieldsOf({ traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' })).toEqual({
    ...{ time: TIME, kind: 'rpc', name: 'E.Demo.TestInOut', application: 'smartWeb', over: 'http', method: 'POST' },
    ...{ status: 200, outcome: 'answered', error: null, duration: 0.025001 },
    ...{ client_wait: 0, first_byte: 0.025001, requestBytes: 12, responseBytes: 3_400 },
    ...{ session: 'b7c1', user: 'anna', verified: true, remoteAddress: '10.0.0.7' },
    trace: '0af7651916cd43dd8448eb211c80319c',
  });
});

it('a line of the access log has null for unknown values, and always all fields', () => {
  const all = Object.keys(fieldsOf({}));
  const fields = fieldsOf({
    ...{ kind: 'other', name: '', application: undefined, status: 0, outcome: 'failed', session: undefined },
    ...{ errorCode: 'D2S_ERR_UPSTREAM_REFUSED', requestBytes: undefined, responseBytes: undefined },
  });
  expect(Object.keys(fields)).toEqual(all);
  expect(fields).toMatchObject({
    ...{ kind: 'other', name: null, application: null, status: null, session: null, user: null, verified: null },
    ...{ error: 'D2S_ERR_UPSTREAM_REFUSED', requestBytes: null, trace: null },
  });
});

it('a line of the access log has neither user nor address without accessLog.users', () => {
  const fields = fieldsOf({}, false);
  expect(Object.keys(fields)).not.toContain('user');
  expect(Object.keys(fields)).not.toContain('remoteAddress');
  expect(JSON.stringify(fields)).not.toMatch(/anna|10\.0\.0\.7/);
});

const SESSION = { id: 'x', userName: 'anna', isVerified: false };
const ODD = 'a"b\\c\n\u2028\ud800\u0000Žofia';
type Row = [string, Partial<EndedCall>, object];

it.each<Row>([
  ['that the name of a user is not verified', { session: SESSION }, { user: 'anna', verified: false }],
  ['no user without a name', { session: { ...SESSION, userName: null } }, { user: null, verified: null }],
  ['any characters in a name', { name: ODD, session: { ...SESSION, userName: ODD } }, { name: ODD, user: ODD }],
  ['512 characters of a longer name', { name: 'n'.repeat(100_000) }, { name: `${'n'.repeat(512)}…` }],
  ['only standard methods', { method: 's3cr3t' }, { method: '(other)' }],
  ['no method of a Comet message', { method: undefined, isComet: true }, { method: null, over: 'comet' }],
  ...['s3cr3t', '00-s3cr3t-1-01', '00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01', ''].map(
    (traceparent): Row => [`no trace of ${traceparent}`, { traceparent }, { trace: null }],
  ),
])('a line of the access log shows %s, in one line of JSON', (_, change, fields) => {
  expect(fieldsOf(change)).toMatchObject(fields);
});

it('a line of the access log shows durations to the microsecond, also very short and long ones', () => {
  const durationOf = (durationNs: number) => fieldsOf({ beganNs: 5, endedNs: 5 + durationNs }).duration;
  expect([0, 100, 1_000, 3.6e12].map(durationOf)).toEqual([0, 0, 0.000001, 3_600]);
  expect(formatAccessLine(endedCall({ beganNs: 0, endedNs: 1_000 }), TIME, true)).toContain('"duration":0.000001,');
});
