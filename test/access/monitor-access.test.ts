import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MonitorAccess } from '../../src/access/monitor-access.ts';
import { ConfigError, StartError } from '../../src/errors.ts';
import type { Logger } from '../../src/logger.ts';
import { Folder, StillClock, tokenLine } from './access-files.ts';

let folder: Folder;
let lines: [level: string, details: unknown, message: unknown][];
let timers: { ms: number; run: () => void }[];
let stopped: number;
beforeEach(() => {
  folder = new Folder();
  lines = [];
  timers = [];
  stopped = 0;
});
afterEach(() => folder.remove());

const note = (level: string) => (details: unknown, message: unknown) => void lines.push([level, details, message]);
const logger = {
  debug: note('debug'),
  info: note('info'),
  warn: note('warn'),
  error: note('error'),
} as unknown as Logger;
const every = (ms: number, run: () => void) => {
  timers.push({ ms, run });
  return () => {
    stopped += 1;
  };
};

const FIRST = tokenLine('prometheus', 'metrics');
const SECOND = tokenLine('grafana', 'sessions');

const open = (auth: Parameters<typeof MonitorAccess.open>[0]) =>
  MonitorAccess.open(auth, { logger, clock: new StillClock(), every });
const files = (tokensFile: string) => ({ usersFile: undefined, tokensFile });
const kindOf = async (access: MonitorAccess, token: string) =>
  (await access.current?.check({ authorization: `Bearer ${token}`, address: '192.0.2.1' }))?.kind ?? 'open';

describe('files of users and tokens', () => {
  it('are looked at every two seconds between watch and close', async () => {
    const access = await open(files(folder.write('tokens', FIRST.line)));
    expect(timers).toEqual([]);
    access.watch();
    expect(timers.map(({ ms }) => ms)).toEqual([2_000]);
    access.close();
    expect(stopped).toBe(1);
  });

  it('that have changed hold from then on, with one line that names nobody', async () => {
    const access = await open(files(folder.write('tokens', FIRST.line)));
    await access.poll();
    expect([lines, access.numbers.replaced]).toEqual([[], 0]);
    folder.write('tokens', SECOND.line);
    await access.poll();
    expect([await kindOf(access, FIRST.token), await kindOf(access, SECOND.token)]).toEqual(['wrong', 'known']);
    expect(access.numbers).toEqual({ replaced: 1, unusable: 0 });
    expect(lines.map(([level, details]) => [level, details])).toEqual([['info', { section: 'monitor.auth' }]]);
    expect(JSON.stringify(lines)).not.toMatch(/grafana|prometheus|sha256/);
  });

  it('that stay bad are told once, from the second look on, and the old ones hold', async () => {
    const access = await open(files(folder.write('tokens', FIRST.line)));
    folder.write('tokens', `${FIRST.line}\nsomebody:metrics:s3cr3t`);
    for (let look = 0; look < 4; look += 1) {
      await access.poll();
      expect(lines).toHaveLength(look === 0 ? 0 : 1);
    }
    expect(lines[0]?.[0]).toBe('error');
    expect(JSON.stringify(lines)).toContain('tokens:2: expected');
    expect(JSON.stringify(lines)).not.toContain('s3cr3t');
    expect(access.numbers).toEqual({ replaced: 0, unusable: 1 });
    expect(await kindOf(access, FIRST.token)).toBe('known');
    folder.write('tokens', SECOND.line);
    await access.poll();
    expect(await kindOf(access, SECOND.token)).toBe('known');
  });
});

describe('another monitor.auth', () => {
  it('lets in others only when it is taken over, and keeps counting', async () => {
    const access = await open(files(folder.write('tokens', FIRST.line)));
    expect(await kindOf(access, 'no')).toBe('wrong');
    const takeOver = await access.prepare(files(folder.write('others', SECOND.line)));
    expect(await kindOf(access, FIRST.token)).toBe('known');
    takeOver();
    expect([await kindOf(access, FIRST.token), await kindOf(access, SECOND.token)]).toEqual(['wrong', 'known']);
    expect(access.counts?.wrong).toBe(2);
  });

  it('opens the port to everybody and closes it again, and keeps counting', async () => {
    const access = await open('none');
    expect([access.current, access.counts]).toEqual([undefined, undefined]);
    await access.poll();
    const tokens = files(folder.write('tokens', FIRST.line));
    (await access.prepare(tokens))();
    expect(await kindOf(access, 'no')).toBe('wrong');
    (await access.prepare(undefined))();
    expect([await kindOf(access, 'no'), access.counts?.wrong]).toEqual(['open', 1]);
    await access.poll();
    (await access.prepare(files(folder.write('others', SECOND.line))))();
    expect([await kindOf(access, FIRST.token), await kindOf(access, SECOND.token)]).toEqual(['wrong', 'known']);
    expect(access.counts?.wrong).toBe(2);
  });

  it('that cannot be used changes nothing', async () => {
    const access = await open(files(folder.write('tokens', FIRST.line)));
    await expect(access.prepare(files(folder.write('bad', 's3cr3t')))).rejects.toBeInstanceOf(ConfigError);
    await expect(access.prepare(files(`${folder.path}/none`))).rejects.toBeInstanceOf(StartError);
    expect(await kindOf(access, FIRST.token)).toBe('known');
  });
});
