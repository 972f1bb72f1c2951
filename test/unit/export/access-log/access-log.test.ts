import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createLogger } from '../../../../src/base/logger.ts';
import type { Config } from '../../../../src/config/config.ts';
import { formatAccessLine } from '../../../../src/export/access-log/access-log.ts';
import { openAccessLogging } from '../../../../src/export/access-log/access-logging.ts';
import type { EndedCall } from '../../../../src/measure/record/call-observer.ts';
import { endedCall } from '../../../support/export/access-log/ended-call.ts';
import { useFolder } from '../../../support/export/access-log/folder.ts';
import { CANCELLED, FAILED, RPC, Traffic } from '../../../support/measure/record/traffic.ts';
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

it('the access log has other requests with accessLog.others, without their paths, and with the time of their end', async () => {
  const { traffic, lines } = await started({ others: true });
  const time = new Date(traffic.clock.epochMs() + 1_500).toISOString();
  traffic.send({ line: 'GET /smartWeb/s3cr3t?x=s3cr3t' }, { afterMs: 1_500 });
  const found = await lines();
  expect(found).toMatchObject([{ time, duration: 1.5, kind: 'other', name: null, method: 'GET', status: 200 }]);
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

it('a line of the access log has null for unknown values, all fields, and without accessLog.users neither user nor address', () => {
  const all = Object.keys(fieldsOf({}));
  const fields = fieldsOf({
    ...{ kind: 'other', name: '', application: undefined, status: 0, outcome: 'failed', session: undefined },
    ...{ errorCode: 'D2S_ERR_UPSTREAM_REFUSED', requestBytes: undefined, responseBytes: undefined },
  });
  expect(Object.keys(fields)).toEqual(all);
  expect(JSON.stringify(fieldsOf({}, false))).not.toMatch(/user|anna|remoteAddress|10\.0\.0\.7/);
  expect(fields).toMatchObject({
    ...{ kind: 'other', name: null, application: null, status: null, session: null, user: null, verified: null },
    ...{ error: 'D2S_ERR_UPSTREAM_REFUSED', requestBytes: null, trace: null },
  });
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
  ['no trace of what is no traceparent', { traceparent: '00-s3cr3t-1-01' }, { trace: null }],
])('a line of the access log shows %s, in one line of JSON', (_, change, fields) => {
  expect(fieldsOf(change)).toMatchObject(fields);
});
