import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { createLogger } from '../../../../src/base/logger.ts';
import type { Config } from '../../../../src/config/config.ts';
import { AccessLogging } from '../../../../src/export/access-log/access-logging.ts';
import { useFolder } from '../../../support/export/access-log/folder.ts';
import { BASE, CANCELLED, FAILED, RPC, Traffic } from '../../../support/measure/record/traffic.ts';
import { testConfig } from '../../../support/wire/test-config.ts';

const at = useFolder();

async function started(change: Partial<Config['accessLog']> = {}) {
  const traffic = new Traffic();
  const config = { ...testConfig().accessLog, file: at('access.log'), ...change };
  const { observers } = traffic.recorder;
  const logging = await AccessLogging.open(config, { clock: traffic.clock, logger: createLogger('silent'), observers });
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

it('the access log samples errors like other calls without errorsAlways', async () => {
  const { traffic, lines } = await started({ sample: 0, errorsAlways: false });
  traffic.send({ line: RPC }, { status: 500 });
  traffic.send({ line: RPC });
  expect(await lines()).toEqual([]);
});

it('the access log has the configured share of the calls', async () => {
  const { traffic, lines } = await started({ sample: 0.25 });
  for (let i = 0; i < 4_000; i += 1) traffic.send({ line: RPC });
  // Six standard deviations.
  expect(Math.abs((await lines()).length - 1_000)).toBeLessThan(165);
});

it('the access log applies another configuration, observes no call while it is off, and can be turned on again', async () => {
  const { traffic, logging, config } = await started({ file: undefined });
  expect([logging.isOn, traffic.recorder.observers.isWanted]).toEqual([false, false]);
  (await logging.prepareReload({ ...config, file: at('access.log') }))();
  traffic.send({ line: RPC });
  (await logging.prepareReload({ ...config, file: at('access.log'), others: true, users: false }))();
  traffic.send({ line: 'GET /page' });
  (await logging.prepareReload({ ...config, file: undefined }))();
  expect(logging.isOn).toBe(false);
  expect(traffic.recorder.observers.isWanted).toBe(false);
  traffic.send({ line: RPC });
  (await logging.prepareReload({ ...config, file: at('again.log') }))();
  traffic.send({ line: RPC });
  await logging.close();
  expect(readFileSync(at('access.log'), 'utf8')).toMatch(/^\{.*"rpc".*"user".*\}\n\{(?!.*"user").*"other".*\}\n$/);
  expect(readFileSync(at('again.log'), 'utf8')).toMatch(/^.*\n$/);
  expect(logging.counts).toMatchObject({ written: 3, lost: 0 });
});
