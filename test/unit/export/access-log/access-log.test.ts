import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createLogger } from '../../../../src/base/logger.ts';
import type { Config } from '../../../../src/config/config.ts';
import { formatAccessLine } from '../../../../src/export/access-log/access-log.ts';
import { openAccessLogging } from '../../../../src/export/access-log/access-logging.ts';
import type { EndedCall } from '../../../../src/measure/record/call-observer.ts';
import { endedCall } from '../../../support/export/access-log/ended-call.ts';
import { useFolder } from '../../../support/export/access-log/folder.ts';
import { BASE, CANCELLED, FAILED, RPC, Traffic } from '../../../support/measure/record/traffic.ts';
import { testConfig } from '../../../support/wire/test-config.ts';

const at = useFolder();

async function started(change: Partial<Config['accessLog']> = {}) {
  const traffic = new Traffic();
  const config = { ...testConfig().accessLog, file: at('access.log'), ...change };
  const { observers } = traffic.recorder;
  const logging = await openAccessLogging(config, { clock: traffic.clock, logger: createLogger('silent'), observers });
  const lines = async () => {
    await logging.close();
    const all = readFileSync(at('access.log'), 'utf8').split('\n').slice(0, -1);
    return all.map((line) => JSON.parse(line) as Record<string, unknown>);
  };
  return { traffic, logging, config, lines };
}

it('the access log has a line for each call, with the time of its end, and none for other requests', async () => {
  const { traffic, lines } = await started();
  const epochMs = traffic.clock.epochMs();
  traffic.send({ line: RPC, user: 'anna' }, { afterMs: 1_500 });
  traffic.send({ line: 'GET /smartWeb/index.html' });
  traffic.send({ line: `GET ${BASE}/d2/object/M.Level` });
  expect(await lines()).toMatchObject([
    { time: new Date(epochMs + 1_500).toISOString(), kind: 'rpc', duration: 1.5, user: 'anna', requestBytes: 0 },
    { kind: 'object', name: 'M.Level', user: null },
  ]);
});

it('the access log has other requests with accessLog.others, without their paths', async () => {
  const { traffic, lines } = await started({ others: true });
  traffic.send({ line: 'GET /smartWeb/s3cr3t?x=s3cr3t' });
  const found = await lines();
  expect(found).toMatchObject([{ kind: 'other', name: null, method: 'GET', status: 200 }]);
  expect(JSON.stringify(found)).not.toContain('s3cr3t');
});

it('the access log has only slow calls with slowerThan, and all errors', async () => {
  const { traffic, lines } = await started({ slowerThanMs: 100 });
  for (const afterMs of [100, 101]) traffic.send({ line: RPC }, { afterMs });
  traffic.send({ line: RPC }, { status: 500 });
  traffic.send({ line: RPC }, { ending: FAILED });
  traffic.send({ line: RPC }, { ending: CANCELLED });
  traffic.send({ line: RPC }, { status: 499 });
  const found = (await lines()).map(({ duration, status, outcome }) => `${duration} ${status} ${outcome}`);
  expect(found).toEqual(['0.101 200 answered', '0 500 answered', '0 null failed']);
});

it('the access log has the configured share of the calls, and of errors without errorsAlways', async () => {
  const { traffic, lines } = await started({ sample: 0.25, errorsAlways: false });
  for (let i = 0; i < 4_000; i += 1) traffic.send({ line: RPC }, { status: i % 2 === 0 ? 200 : 500 });
  const found = await lines();
  for (const status of [200, 500]) {
    // Six standard deviations.
    expect(Math.abs(found.filter((line) => line.status === status).length - 500)).toBeLessThan(117);
  }
});

it('the access log applies another configuration, observes no call while it is off, and can be turned on again', async () => {
  const { traffic, logging, config } = await started({ file: undefined });
  expect([logging.numbers, traffic.recorder.observers.isWanted]).toEqual([undefined, false]);
  (await logging.prepareReload({ ...config, file: at('access.log') }))();
  traffic.send({ line: RPC });
  (await logging.prepareReload({ ...config, file: at('access.log'), others: true, users: false }))();
  traffic.send({ line: 'GET /page' });
  (await logging.prepareReload({ ...config, file: undefined }))();
  expect(logging.numbers).toBeUndefined();
  expect(traffic.recorder.observers.isWanted).toBe(false);
  traffic.send({ line: RPC });
  (await logging.prepareReload({ ...config, file: at('again.log') }))();
  traffic.send({ line: RPC });
  await logging.close();
  expect(readFileSync(at('access.log'), 'utf8')).toMatch(/^\{.*"rpc".*"user".*\}\n\{(?!.*"user").*"other".*\}\n$/);
  expect(readFileSync(at('again.log'), 'utf8')).toMatch(/^.*\n$/);
  expect(logging.counts).toMatchObject({ written: 3, lost: 0 });
});

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
