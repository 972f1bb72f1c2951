import { beforeEach, expect, it } from 'vitest';
import { ConfigError, StartError } from '../../../../src/base/errors.ts';
import { AccessClosed, MonitorAccess } from '../../../../src/monitor/access/monitor-access.ts';
import { ManualClock } from '../../../support/clock.ts';
import { Folder, tokenLine } from '../../../support/monitor/access/access-files.ts';
import { expectPolls } from '../../../support/polls.ts';
import { type RecordingLogger, recordingLogger } from '../../../support/wire/recording-logger.ts';

const folder = new Folder().forTests();
let recording: RecordingLogger;
beforeEach(() => {
  recording = recordingLogger();
});

const FIRST = tokenLine('prometheus', 'metrics');
const SECOND = tokenLine('grafana', 'sessions');

const open = (auth: Parameters<typeof MonitorAccess.open>[0]) =>
  MonitorAccess.open(auth, { logger: recording.logger, clock: new ManualClock() });
const files = (tokensFile: string) => ({ usersFile: undefined, tokensFile });
const openFirst = () => open(files(folder.write('tokens', FIRST.line)));
const kindOf = async ({ current }: MonitorAccess, token: string) => {
  if (current instanceof AccessClosed) return 'closed';
  return (await current?.check({ authorization: `Bearer ${token}`, address: '192.0.2.1' }))?.kind ?? 'open';
};

it('files of users and tokens are checked every two seconds, and take effect when they change, with one log line that names no reader', async () => {
  const access = await openFirst();
  expectPolls(access);
  await access.poll();
  expect([recording.logged, access.numbers.replaced]).toEqual([[], 0]);
  folder.write('tokens', SECOND.line);
  await access.poll();
  expect([await kindOf(access, FIRST.token), await kindOf(access, SECOND.token)]).toEqual(['wrong', 'known']);
  expect(access.numbers).toEqual({ replaced: 1, unusable: 0 });
  expect(recording.logged).toMatchObject([{ level: 'info', details: { section: 'monitor.auth' } }]);
  expect(JSON.stringify(recording.logged)).not.toMatch(/grafana|prometheus|sha256/);
});

it('files of users and tokens are reported once, at the second check, while they stay invalid, and the old list stays in use', async () => {
  const access = await openFirst();
  folder.write('tokens', `${FIRST.line}\nsomebody:metrics:s3cr3t`);
  for (let look = 0; look < 4; look += 1) {
    await access.poll();
    expect(recording.logged).toHaveLength(look === 0 ? 0 : 1);
  }
  expect(recording.logged[0]?.level).toBe('error');
  expect(JSON.stringify(recording.logged)).toContain('tokens:2: expected');
  expect(JSON.stringify(recording.logged)).not.toContain('s3cr3t');
  expect(access.numbers).toEqual({ replaced: 0, unusable: 1 });
  expect(await kindOf(access, FIRST.token)).toBe('known');
  folder.write('tokens', SECOND.line);
  await access.poll();
  expect(await kindOf(access, SECOND.token)).toBe('known');
});

it('files of users and tokens that are unusable at the start do not matter after a reload that names others, or none', async () => {
  const access = await open(files(`${folder.path}/none`));
  (await access.prepareReload(files(folder.write('tokens', FIRST.line))))();
  expect(await kindOf(access, FIRST.token)).toBe('known');
  for (const start of [access, await open(files(`${folder.path}/none`))]) {
    (await start.prepareReload('none'))();
    expect(await kindOf(start, 'no')).toBe('open');
  }
});

it('another monitor.auth opens the port to everybody and closes it again, and keeps the counters', async () => {
  const access = await open('none');
  expect([access.current, access.counts]).toEqual([undefined, undefined]);
  await access.poll();
  const takeOver = await access.prepareReload(files(folder.write('tokens', FIRST.line)));
  expect(await kindOf(access, 'no'), 'before it is applied').toBe('open');
  takeOver();
  expect(await kindOf(access, 'no')).toBe('wrong');
  (await access.prepareReload(undefined))();
  expect([await kindOf(access, 'no'), access.counts?.wrong]).toEqual(['open', 1]);
  await access.poll();
  (await access.prepareReload(files(folder.write('others', SECOND.line))))();
  expect([await kindOf(access, FIRST.token), await kindOf(access, SECOND.token)]).toEqual(['wrong', 'known']);
  expect(access.counts?.wrong).toBe(2);
});

it('another monitor.auth is not replaced by a change of the old files that was read before it, nor by an unusable one', async () => {
  const access = await openFirst();
  const apply = await access.prepareReload(files(folder.write('others', SECOND.line)));
  folder.write('tokens', `${FIRST.line}\n# changed`);
  const polled = access.poll();
  apply();
  await polled;
  expect([await kindOf(access, FIRST.token), await kindOf(access, SECOND.token)]).toEqual(['wrong', 'known']);
  await expect(access.prepareReload(files(folder.write('bad', 's3cr3t')))).rejects.toBeInstanceOf(ConfigError);
  await expect(access.prepareReload(files(`${folder.path}/none`))).rejects.toBeInstanceOf(StartError);
  expect(await kindOf(access, SECOND.token)).toBe('known');
});
