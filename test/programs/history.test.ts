/** The history of a real sidecar whose time passes 60 times as fast, read by Debian's sqlite3: kills, full and read-only disks, its commands. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { NO_SQLITE } from '../support/archive/minutes.ts';
import { until } from '../support/comet/until.ts';
import { deferTo, temporaryFolder } from '../support/deferred.ts';
import { readDocument } from '../support/docs/documents.ts';
import { playsAll } from '../support/effort.ts';
import { Random } from '../support/fuzz/random.ts';
import { readSamples } from '../support/monitor/prometheus/samples.ts';
import { portOf, restCall, startApplication } from '../support/net.ts';
import { isAvailable } from '../support/programs.ts';
import { flagsFor, runSidecar, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts';

const KILLS = playsAll ? 100 : 5;
const SEED = 44;
const LAPSE = 60;
/** A minute, 5 s, and what a busy machine takes. */
const LOST_MS = 65_000 / LAPSE + 1_000;
const NODE = [process.execPath, '--import', path.resolve(import.meta.dirname, '../../scripts/time-lapse.mjs')];
const SUM =
  "SELECT coalesce(sum(count), 0) FROM steps JOIN series ON series.id = steps.series WHERE kind = 'rpc' AND name = '' AND step = ";
const isThere = isAvailable('sqlite3', existsSync('/usr/bin/sqlite3')) && !NO_SQLITE;
const isRoot = process.geteuid?.() === 0;

const defer = deferTo(afterAll);
const upstream = await startApplication((_, response) => response.end('{"value":1}'), defer);

const query = (file: string, sql: string) => execFileSync('sqlite3', [file, sql], { encoding: 'utf8' }).trim();

const callOnce = ({ listen }: SidecarProcess) => restCall(portOf(listen), 'rpc/E.Demo/Run', 'ann', { body: '{}' });

async function start(file: string, command = NODE): Promise<SidecarProcess> {
  const env = { D2S_TIME_LAPSE: String(LAPSE), D2_SIDECAR_HISTORY_FILE: file, D2_SIDECAR_JVM_SOURCE: 'none' };
  const sidecar = await startSidecarProcess(flagsFor(upstream.port), env, command);
  defer(() => sidecar.stop('SIGKILL'));
  return sidecar;
}

describe.skipIf(!isThere)('the history of a real sidecar', () => {
  it(`survives ${KILLS} kills: the file opens, and lacks the last minute and 5 s at most`, {
    timeout: KILLS * 10_000,
  }, async () => {
    const file = path.join(temporaryFolder(defer), 'history.db');
    const random = new Random(SEED);
    let before = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const sidecar = await start(file);
      const answered: number[] = [];
      let begun = 0;
      let isUp = true;
      const client = async () => {
        while (isUp) {
          begun += 1;
          const answer = await callOnce(sidecar).catch(() => undefined);
          if (answer?.status === 200) answered.push(performance.now());
          else expect(isUp).toBe(false);
        }
      };
      const clients = Promise.all([client(), client()]);
      await wait(random.below(4_000));
      isUp = false;
      const killedMs = performance.now();
      await sidecar.stop('SIGKILL');
      await clients;
      expect(query(file, 'PRAGMA integrity_check')).toBe('ok');
      const written = Number(query(file, `${SUM} 60`));
      const due = answered.filter((atMs) => atMs < killedMs - LOST_MS).length;
      expect(written - before).toBeGreaterThanOrEqual(due);
      expect(written - before).toBeLessThanOrEqual(begun);
      expect([query(file, `${SUM} 600`), query(file, `${SUM} 3600`)]).toEqual([String(written), String(written)]);
      before = written;
    }
    expect(before).toBeGreaterThan(KILLS * 10);
  });

  it('is summarized and copied by commands, and has the notes', { timeout: 60_000 }, async () => {
    const file = path.join(temporaryFolder(defer), 'history.db');
    const sidecar = await start(file);
    for (let at = 0; at < 30; at += 1) await callOnce(sidecar);
    const select = ['--pid', String(sidecar.pid)];
    expect(await runSidecar(['note', 'index', 'added', ...select])).toMatchObject({
      code: 0,
      stdout: `d2-sidecar ${sidecar.pid}: noted\n`,
    });
    await until('a minute is written', () => query(file, `${SUM} 60`) === '30');
    await until(
      'the note is written',
      () => query(file, "SELECT text FROM marks WHERE kind = 'note'") === 'index added',
    );
    const copy = path.join(path.dirname(file), 'copy.db');
    const copied = await runSidecar(['history', 'backup', copy, ...select]);
    expect(copied).toMatchObject({ code: 0, stdout: `history copied to ${copy}\n` });
    expect([query(copy, `${SUM} 3600`), query(copy, 'PRAGMA integrity_check')]).toEqual(['30', 'ok']);
    const [, documented = ''] = /```sql\n([^`]+)```/.exec(readDocument('docs/history.md').text) ?? [];
    expect(query(copy, documented)).toMatch(/^\d{4}-\d\d-\d\d \d\d:00:00\|30\|0\|\d+$/);
    expect(await runSidecar(['history', 'backup', copy, ...select])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('EEXIST'),
    });
    const { stdout } = await runSidecar(['summary', '--since', '24h', ...select]);
    for (const text of [
      '/smartWeb',
      'RPC: 30 calls (0), 0 errors (0), p95',
      'E.Demo.Run',
      'Sessions at most: 1',
      'Outages of the application server: 0',
    ])
      expect(stdout).toContain(text);
  });

  it.skipIf(!isRoot).each([
    ['full', '', 'head -c 4m /dev/zero > DISK/filler || true', 'rm DISK/filler', 'database or disk is full'],
    ['read-only', ',ro', 'true', 'mount -o remount,rw DISK', 'EROFS'],
  ])('a %s disk stops no traffic, and no minute is lost', { timeout: 60_000 }, async (_, options, begin, end, why) => {
    const disk = path.join(temporaryFolder(defer), 'disk');
    mkdirSync(disk);
    const file = path.join(disk, 'history.db');
    const mount = `mount -t tmpfs -o size=2m${options} none ${disk} && exec "$@"`;
    const sidecar = await start(file, ['unshare', '--mount', 'sh', '-c', mount, 'sh', ...NODE]);
    const inside = (command: string) => {
      const words = ['--mount', '--target', String(sidecar.pid), 'sh', '-c', command.replaceAll('DISK', disk)];
      return execFileSync('nsenter', words, { encoding: 'utf8' }).trim();
    };
    const failures = async () =>
      (await readSamples(sidecar.monitor)).get('d2_sidecar_history_write_failures_total') ?? 0;
    const sum = () => inside(`test -s ${file} && sqlite3 ${file} "${SUM} 60" || true`);
    let calls = 0;
    const call = async () => {
      calls += 1;
      expect((await callOnce(sidecar)).status).toBe(200);
    };
    await call();
    if (options === '') await until('the first is written', () => sum() === '1');
    inside(begin);
    while ((await failures()) < 3) {
      await call();
      await wait(50);
    }
    inside(end);
    await until('all is written', () => sum() === String(calls));
    const reasons = sidecar.logs.filter(({ code }) => code === 'D2S_ERR_HISTORY_FILE').map(({ reason }) => reason);
    expect(reasons).toEqual([why]);
  });
});
