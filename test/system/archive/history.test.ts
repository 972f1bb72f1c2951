/** A sidecar with `history.file`: its endpoints, its marks, and what is there after a restart. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { openDatabase } from '../../../src/archive/sqlite.ts';
import { NO_SQLITE } from '../../support/archive/minutes.ts';
import { ManualClock } from '../../support/clock.ts';
import { until } from '../../support/comet/until.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { restCall, send } from '../../support/net.ts';
import { answering, OK, type Stand, startStand } from '../../support/wire/stand.ts';

const ADMIN = '/smartWeb/api/rest/v0/admin';
const COLUMNS = ['time', 'count', 'errors', 'p50', 'p95', 'p99', 'max'];
const defer = deferTo(afterAll);

interface Rows {
  readonly step: number;
  readonly rows: readonly (readonly [time: string, count: number, errors: number, ...(number | null)[]])[];
}

const newFile = () => path.join(temporaryFolder(defer), 'history.db');

/** The test ends each step. */
async function started(file: string | undefined, clock = new ManualClock()): Promise<Stand> {
  const config = { history: { file, keepMs: 90 * 86_400_000, maxBytes: 1e9 } };
  const stand = await startStand({ onConnection: answering(OK), clock, config: () => config });
  onTestFinished(() => stand.close());
  stand.sidecar.history.stop();
  return stand;
}

function step({ sidecar }: Stand, clock: ManualClock, steps = 1): void {
  for (let at = 0; at < steps; at += 1) {
    clock.advanceMs(5_000);
    sidecar.history.sample();
  }
}

const isIdle = ({ sidecar }: Stand) => until('the history is written', () => sidecar.archive.queued === 0);
const read = async ({ monitorPort }: Stand, query: string) => await send(monitorPort, `${ADMIN}/history${query}`);
const rowsOf = async (stand: Stand, query: string) => JSON.parse((await read(stand, query)).body) as Rows;

describe.skipIf(NO_SQLITE)('a sidecar with history.file', () => {
  it('answers what its counters counted, as JSON and CSV, also after a restart', async () => {
    const file = newFile();
    const clock = new ManualClock();
    const first = await started(file, clock);
    for (let minute = 0; minute < 3; minute += 1) {
      for (let at = 0; at <= minute; at += 1) await restCall(first.port, 'rpc/E.Demo/Run', 'ann');
      step(first, clock, 12);
    }
    first.sidecar.history.mark('note', 'index added');
    await restCall(first.port, 'rpc/E.Demo/Run', 'ann');
    step(first, clock);
    await isIdle(first);
    const { timers } = await first.read<{ timers: Record<string, { count: number }> }>('metrics/d2/rpc');
    const points = first.sidecar.history.points('smartWeb');
    await first.close();
    clock.advanceMs(1_000);

    const second = await started(file, clock);
    const { step: length, rows } = await rowsOf(second, '?from=-1h&name=rpc.E.Demo.Run');
    expect([length, ...rows.map(([time, count, errors]) => [time.slice(11, 16), count, errors])]).toEqual([
      60,
      ['08:00', 1, 0],
      ['08:01', 2, 0],
      ['08:02', 3, 0],
      ['08:03', 1, 0],
    ]);
    expect(rows.reduce((sum, [, count]) => sum + count, 0)).toBe(timers.rpc?.count);
    const csv = await read(second, '.csv?from=2026-03-01T08:01:00Z&to=2026-03-01T08:02');
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8; header=present');
    expect(csv.body.split('\r\n')).toEqual([
      COLUMNS.join(','),
      expect.stringMatching(/^2026-03-01T08:01:00.000Z,2,0(,[\d.]+){4}$/),
      '',
    ]);
    const rowsOfSessions = [['2026-03-01T08:00:00.000Z', 1, 0, null, null, null, null]];
    const wide = await rowsOf(second, '?pretty=true&name=sessions.active&from=-7d');
    expect(wide).toMatchObject({ step: 600, columns: COLUMNS, rows: rowsOfSessions });

    const { history } = second.sidecar;
    expect(history.points('smartWeb').slice(0, points.length)).toEqual(points);
    expect(history.minutesOf('smartWeb', 'rpc', 'E.Demo.Run').map(({ ok }) => ok)).toEqual([1, 2, 3, 1, 0]);
    const kinds = ['start', 'note', 'drain', 'start'];
    expect(history.marks.map(({ kind }) => kind)).toEqual(kinds);
    step(second, clock);
    await isIdle(second);
    await until('the marks are written', () => second.sidecar.archive.writes > 0);
    expect(JSON.parse((await read(second, '/marks?from=-1d')).body)).toMatchObject(
      kinds.map((kind) => ({ kind, until: null })),
    );
    // Names of calls are there, names of users are not.
    const database = openDatabase(file);
    database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    const minutes = database
      .prepare('SELECT * FROM lastHour')
      .all()
      .map(({ minute }) => minute as Uint8Array);
    const text = Buffer.concat(minutes).toString('latin1');
    expect([text.includes('E.Demo.Run'), text.includes('ann')]).toEqual([true, false]);
    database.close();
  });

  it.each([
    ['?name=rpc.E.None', 404, 'The history has no'],
    ['?from=yesterday', 400, '"from" must be a time such as'],
    ['?from=2026-03-01T08:00:00', 400, '"from" must be before "to"'],
    ['?from=2026-02-29T00:00:00Z', 400, '"from" must be a time'],
    ['?name=a&name=b', 400, '"name" must be one name'],
  ])('%s is answered by %d', async (query, status, detail) => {
    const answer = await read(await started(newFile()), query);
    const written = expect.stringContaining(JSON.stringify(detail).slice(1, -1));
    expect([answer.status, answer.body]).toEqual([status, written]);
  });

  it('serves without its file, writes what waits when it can, and marks what happened', async () => {
    const folder = path.join(temporaryFolder(defer), 'not-there');
    const clock = new ManualClock();
    const stand = await started(path.join(folder, 'history.db'), clock);
    for (let minute = 0; minute < 2; minute += 1) {
      expect((await restCall(stand.port, 'rpc/E.Demo/Run', 'ann')).status).toBe(200);
      step(stand, clock, 12);
      await until('the write fails', () => stand.sidecar.archive.failures > minute);
    }
    expect((await read(stand, '')).status).toBe(503);
    expect(stand.sidecar.archive.queued).toBe(2);
    mkdirSync(folder);
    step(stand, clock);
    await isIdle(stand);
    expect((await rowsOf(stand, '')).rows.map(([, count]) => count)).toEqual([1, 1]);
    step(stand, clock);
    const marks = stand.sidecar.history.marks.filter(({ kind }) => kind === 'history');
    expect(marks).toMatchObject([{ text: 'The history cannot be written: ENOENT.', endEpochMs: expect.any(Number) }]);
    expect(stand.logged.filter(({ details }) => details.code === 'D2S_ERR_HISTORY_FILE')).toHaveLength(1);
    expect((await stand.samples()).get('d2_sidecar_history_write_failures_total')).toBeGreaterThan(1);
  });

  it('begins anew beside a damaged file, and says so', async () => {
    const file = newFile();
    writeFileSync(file, 'x'.repeat(10_000));
    const clock = new ManualClock();
    const stand = await started(file, clock);
    step(stand, clock, 12);
    await isIdle(stand);
    expect(existsSync(`${file}.damaged`)).toBe(true);
    expect((await rowsOf(stand, '')).rows).toHaveLength(1);
    expect(stand.sidecar.history.marks.map(({ text }) => text)).toContain(
      'The history file was renamed (damaged), and the history begins anew.',
    );
    expect((await stand.samples()).get('d2_sidecar_history_files_refused_total{reason="damaged"}')).toBe(1);
  });
});

it('without history.file the endpoint says so', async () => {
  const { status, body } = await read(await started(undefined), '');
  expect([status, body]).toEqual([503, expect.stringContaining('history.file is not set')]);
});
