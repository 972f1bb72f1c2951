import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LineFile, type LineFileLimits, type LineFileOptions } from '../../../../src/export/access-log/line-file.ts';
import { useFolder } from '../../../support/export/access-log/folder.ts';
import { giveToOther } from '../../../support/other-user.ts';

const at = useFolder();
const RETRY_MS = 5;
const LINE = `${'x'.repeat(99)}\n`;

let opened: LineFile[] = [];
afterEach(async () => {
  await Promise.all(opened.map((file) => file.close(0)));
  opened = [];
});

function create(options: Partial<LineFileOptions> = {}, limits: LineFileLimits = {}) {
  const counts = { written: 0, lost: 0, failures: 0, rotations: 0 };
  const told: [fields: Record<string, unknown>, message: string][] = [];
  const log = (fields: unknown, message?: string) => void told.push([fields as never, message ?? '']);
  const logger = { debug: log, info: log, warn: log, error: log };
  const all = { file: at('access.log'), maxBytes: 0, keep: 2, ...options };
  const file = new LineFile(all, counts, logger, { retryMs: RETRY_MS, ...limits });
  opened.push(file);
  const write = (first: number, count: number) => {
    for (let i = first; i < first + count; i += 1) file.write(`${i}\n`);
  };
  return { file, counts, told, write };
}

function numbersIn(path: string): number[] {
  return readFileSync(path, 'utf8').split('\n').slice(0, -1).map(Number);
}

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const readable = async (path: string): Promise<FileHandle> =>
  await open(path, constants.O_RDONLY | constants.O_NONBLOCK);

async function readAll(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(1_000_000), 0, 1_000_000).catch(() => ({
    ...{ buffer: Buffer.alloc(0), bytesRead: 0 },
  }));
  return buffer.toString('utf8', 0, bytesRead);
}

describe('a file of lines', () => {
  it('has its lines in order, and is private', async () => {
    const { file, counts, write } = create();
    write(0, 20_000);
    await file.close(5_000);
    expect(numbersIn(at('access.log'))).toEqual(upTo(20_000));
    expect(statSync(at('access.log')).mode & 0o777).toBe(0o600);
    expect(counts).toEqual({ written: 20_000, lost: 0, failures: 0, rotations: 0 });
  });

  it('is continued, with its mode, if it exists', async () => {
    writeFileSync(at('access.log'), '0\n', { mode: 0o640 });
    const { file, write } = create();
    write(1, 1);
    await file.close(5_000);
    expect(numbersIn(at('access.log'))).toEqual([0, 1]);
    expect(statSync(at('access.log')).mode & 0o777).toBe(0o640);
  });

  describe('is refused and not changed, with a warning that has the reason,', () => {
    afterEach(() => vi.restoreAllMocks());

    it.each([
      ['is a link of another user', 'link', /access\.log is a symbolic link of uid \d+, expected one of root/],
      ['belongs to another user', 'file', /^it belongs to uid \d+, expected root/],
      [
        'may be written by all',
        'mode',
        /^every user of this machine may write it \(mode 0666\), expected 0600 or 0640$/,
      ],
      // Where fs.protected_fifos is set, the kernel refuses it first.
      ['is a FIFO of another user in a folder of all', 'fifo', /^(it belongs to uid \d+, expected root|EACCES$)/],
    ] as const)('if it %s', async (_what, kind, reason) => {
      const path = at('access.log');
      const target = kind === 'link' ? at('target') : path;
      if (kind === 'fifo') execFileSync('mkfifo', [path]);
      else writeFileSync(target, 'before\n');
      if (kind === 'link') symlinkSync(target, path);
      const reader = kind === 'fifo' ? await readable(path) : undefined;
      if (kind === 'mode') chmodSync(path, 0o666);
      else giveToOther(path);
      if (kind === 'fifo') chmodSync(at('.'), 0o1777);
      const { file, counts, told, write } = create();
      write(0, 2);
      await expect.poll(() => counts.failures).toBeGreaterThan(1);
      await file.close(5_000);
      expect(told).toEqual([
        [{ code: 'D2S_ERR_ACCESS_LOG', file: path, reason: expect.stringMatching(reason) }, expect.anything()],
      ]);
      expect(counts).toMatchObject({ written: 0, lost: 2 });
      expect(reader === undefined ? readFileSync(target, 'utf8') : await readAll(reader)).toBe(
        reader ? '' : 'before\n',
      );
      await reader?.close();
    });

    it('until it can be trusted', async () => {
      writeFileSync(at('access.log'), '');
      chmodSync(at('access.log'), 0o666);
      const { counts, write } = create();
      write(0, 2);
      await expect.poll(() => counts.failures).toBeGreaterThan(0);
      chmodSync(at('access.log'), 0o600);
      await expect.poll(() => counts.written).toBe(2);
    });

    it('but not if it is our own link, or a FIFO in a folder of its reader', async () => {
      symlinkSync('target', at('access.log'));
      const { file, write } = create();
      write(0, 2);
      await file.close(5_000);
      expect(numbersIn(at('target'))).toEqual([0, 1]);
      execFileSync('mkfifo', [at('fifo')]);
      const reader = await readable(at('fifo'));
      giveToOther(at('fifo'));
      const { file: fifo, write: writeFifo } = create({ file: at('fifo') });
      writeFifo(0, 2);
      await fifo.close(5_000);
      expect(await readAll(reader)).toBe('0\n1\n');
      await reader.close();
    });
  });

  it('begins a new line if a crash has cut the last one short', async () => {
    writeFileSync(at('access.log'), '{"time":"2026-03');
    const { file, write } = create({ maxBytes: 20, keep: 1 });
    write(0, 1);
    await file.close(5_000);
    expect(readFileSync(at('access.log'), 'utf8')).toBe('{"time":"2026-03\n0\n');
    const again = create({ maxBytes: 19, keep: 1 });
    again.write(1, 1);
    await again.file.close(5_000);
    expect(readFileSync(at('access.log.1'), 'utf8')).toBe('{"time":"2026-03\n0\n');
    expect(readFileSync(at('access.log'), 'utf8')).toBe('1\n');
  });

  it('is written within a second', async () => {
    const { counts, write } = create();
    write(0, 1);
    await vi.waitFor(() => expect(counts.written).toBe(1));
  });

  it('loses no line when it is moved away and reopened', async () => {
    const { file, counts, write } = create();
    write(0, 1_000);
    await vi.waitFor(() => expect(counts.written).toBe(1_000));
    renameSync(at('access.log'), at('moved'));
    write(1_000, 500);
    file.reopen();
    write(1_500, 500);
    await file.close(5_000);
    expect([...numbersIn(at('moved')), ...numbersIn(at('access.log'))]).toEqual(upTo(2_000));
    expect(numbersIn(at('access.log')).length).toBeGreaterThanOrEqual(500);
    expect(counts.lost).toBe(0);
  });

  it('changes with the next batch when the configuration names another one', async () => {
    const { file, counts, write } = create();
    write(0, 10);
    await vi.waitFor(() => expect(counts.written).toBe(10));
    file.reconfigure({ file: at('other.log'), maxBytes: 0, keep: 2 });
    write(10, 10);
    await file.close(5_000);
    expect(numbersIn(at('other.log'))).toEqual(upTo(20).slice(10));
  });

  it('counts lines as lost after it is closed', async () => {
    const { file, counts, write } = create();
    await file.close(5_000);
    write(0, 3);
    expect(counts.lost).toBe(3);
  });
});

describe('a file that has become too large', () => {
  it('is rotated each time, and only the configured number is kept', async () => {
    const { file, counts, write } = create({ maxBytes: 100, keep: 2 });
    for (let first = 0; first < 100; first += 20) {
      write(first, 20);
      await vi.waitFor(() => expect(counts.written).toBe(first + 20));
    }
    await file.close(5_000);
    // 10 lines of 2 bytes and then 3 each: the size is looked at before each batch.
    const kept = ['access.log.2', 'access.log.1', 'access.log'].flatMap((name) => numbersIn(at(name)));
    expect(kept).toEqual(upTo(100).slice(-kept.length));
    expect(counts.rotations).toBeGreaterThanOrEqual(2);
    expect(existsSync(at('access.log.3'))).toBe(false);
    expect(counts.lost).toBe(0);
  });

  it('is deleted and created again if none is to be kept', async () => {
    const { file, counts } = create({ maxBytes: 100, keep: 0 });
    file.write(LINE);
    await vi.waitFor(() => expect(counts.written).toBe(1));
    file.write('last\n');
    await file.close(5_000);
    expect(readFileSync(at('access.log'), 'utf8')).toBe('last\n');
    expect(existsSync(at('access.log.1'))).toBe(false);
  });

  it('is rotated if it is too large at the start', async () => {
    writeFileSync(at('access.log'), LINE);
    const { file, write } = create({ maxBytes: 50 });
    write(0, 1);
    await file.close(5_000);
    expect(readFileSync(at('access.log'), 'utf8')).toBe('0\n');
    expect(readFileSync(at('access.log.1'), 'utf8')).toBe(LINE);
  });

  it('grows by as much again before the next attempt if it cannot be rotated', async () => {
    // No file takes the place of a folder.
    mkdirSync(at('access.log.1'));
    const { file, counts, told } = create({ maxBytes: 100, keep: 1 });
    const put = async (line: string, written: number) => {
      file.write(line);
      await vi.waitFor(() => expect(counts.written).toBe(written));
    };
    await put(LINE, 1);
    await put('within\n', 2);
    expect(counts).toMatchObject({ failures: 1, rotations: 0 });
    await put(LINE, 3);
    await vi.waitFor(() => expect(counts).toMatchObject({ failures: 2, rotations: 0 }));
    expect(told[0]?.[0]).toMatchObject({ code: 'D2S_ERR_ACCESS_LOG', reason: 'EISDIR' });
    rmdirSync(at('access.log.1'));
    await put(LINE, 4);
    await vi.waitFor(() => expect(counts.rotations).toBe(1));
    await put('next\n', 5);
    expect(counts).toMatchObject({ failures: 2, rotations: 1, lost: 0 });
    expect(readFileSync(at('access.log.1'), 'utf8')).toBe(`${LINE}within\n${LINE}${LINE}`);
    expect(readFileSync(at('access.log'), 'utf8')).toBe('next\n');
  });

  it('is continued if another program has truncated it', async () => {
    const { file, counts } = create({ maxBytes: 150 });
    file.write(LINE);
    await vi.waitFor(() => expect(counts.written).toBe(1));
    writeFileSync(at('access.log'), '');
    file.write(LINE);
    await file.close(5_000);
    expect(readFileSync(at('access.log'), 'utf8')).toBe(LINE);
    expect(counts.rotations).toBe(0);
  });
});

describe('a file that cannot be written', () => {
  it('on a full disk keeps what fits into memory, counts the rest as lost, and warns once', async () => {
    const { file, counts, told, write } = create({ file: '/dev/full' }, { maxWaitingBytes: 1_000 });
    for (let i = 0; i < 15; i += 1) file.write(LINE);
    await vi.waitFor(() => expect(counts.failures).toBeGreaterThan(2));
    expect(counts).toMatchObject({ written: 0, lost: 5 });
    expect(file.waitingBytes).toBe(1_000);
    expect(told.map(([fields]) => fields)).toEqual([
      expect.objectContaining({ code: 'D2S_ERR_ACCESS_LOG', file: '/dev/full' }),
    ]);
    write(0, 1);
    expect(counts.lost).toBe(6);
    await file.close(100);
    expect(counts.lost).toBe(16);
  });

  it('in a missing folder is opened as soon as possible, with the lines that waited', async () => {
    const { file, counts, told, write } = create({ file: at('later/access.log') });
    write(0, 10);
    await vi.waitFor(() => expect(counts.failures).toBeGreaterThan(0));
    execFileSync('mkdir', [at('later')]);
    await vi.waitFor(() => expect(counts.written).toBe(10));
    expect(numbersIn(at('later/access.log'))).toEqual(upTo(10));
    expect(told[0]?.[0]).toMatchObject({ reason: 'ENOENT' });
    expect(told.at(-1)?.[0]).toMatchObject({ lost: 0 });
    await file.close(5_000);
  });

  it('stays in use if the new one cannot be opened', async () => {
    const { file, counts, told, write } = create();
    write(0, 5);
    await vi.waitFor(() => expect(counts.written).toBe(5));
    file.reconfigure({ file: at('nowhere/access.log'), maxBytes: 0, keep: 2 });
    write(5, 5);
    await file.close(5_000);
    expect(numbersIn(at('access.log'))).toEqual(upTo(10));
    expect(told[0]?.[0]).toMatchObject({ file: at('nowhere/access.log'), reason: 'ENOENT' });
  });

  it('never blocks its writer if it is a FIFO without a reader', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const { file, counts, told, write } = create({ file: at('fifo') });
    write(0, 10);
    await vi.waitFor(() => expect(counts.failures).toBeGreaterThan(0));
    expect(told[0]?.[0]).toMatchObject({ reason: 'ENXIO' });
    const reader = await readable(at('fifo'));
    await vi.waitFor(() => expect(counts.written).toBe(10));
    expect(await readAll(reader)).toBe(
      upTo(10)
        .map((i) => `${i}\n`)
        .join(''),
    );
    await file.close(1_000);
    await reader.close();
  });

  it('keeps lines for a slow reader of a FIFO up to its limit, and then leaves a gap of whole lines', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const reader = await readable(at('fifo'));
    const { file, counts, told } = create({ file: at('fifo') }, { maxWaitingBytes: 100_000 });
    const lines = Array.from({ length: 3_000 }, (_, i) => `${String(i).padStart(99, '0')}\n`);
    for (const line of lines.slice(0, 900)) file.write(line);
    // 64 KiB are the kernel's.
    await vi.waitFor(() => expect(counts.written).toBeGreaterThan(600));
    expect(told).toEqual([]);
    for (const line of lines.slice(900)) file.write(line);
    expect(counts.lost).toBeGreaterThan(500);
    expect(told[0]?.[0]).toMatchObject({ reason: 'its reader is too slow' });
    let text = '';
    await vi.waitFor(async () => {
      text += await readAll(reader);
      expect(counts.written + counts.lost).toBe(3_000);
    });
    text += await readAll(reader);
    const got = text.split('\n').slice(0, -1).map(Number);
    expect(got).toEqual(upTo(got.length));
    expect(got.length).toBe(counts.written);
    await vi.waitFor(() => expect(told.at(-1)?.[1]).toBe('the access log is written again'));
    expect(told.at(-1)?.[0]).toMatchObject({ lost: counts.lost });
    await file.close(1_000);
    await reader.close();
  });

  it('continues in the middle of a line if it is reopened and has not been moved away', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const reader = await readable(at('fifo'));
    const { file, counts } = create({ file: at('fifo') });
    for (let i = 0; i < 5; i += 1) file.write(`${String(i).padStart(39_999, '0')}\n`);
    await vi.waitFor(() => expect(counts.written).toBe(1));
    await vi.waitFor(() => expect(file.waitingBytes).toBeLessThan(4 * 40_000));
    file.reopen();
    let text = '';
    await vi.waitFor(async () => {
      text += await readAll(reader);
      expect(text.split('\n').slice(0, -1).map(Number)).toEqual(upTo(5));
    });
    expect(counts).toMatchObject({ written: 5, lost: 0, failures: 0 });
    await file.close(1_000);
    await reader.close();
  });

  it('begins with a whole line if it replaces another file in the middle of a line', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const reader = await readable(at('fifo'));
    const { file, counts } = create({ file: at('fifo') });
    // The kernel keeps 64 KiB: one line, and a part of the next.
    for (let i = 0; i < 5; i += 1) file.write(`${String(i).padStart(39_999, '0')}\n`);
    await vi.waitFor(() => expect(counts.written).toBe(1));
    await vi.waitFor(() => expect(file.waitingBytes).toBeLessThan(4 * 40_000));
    file.reconfigure({ file: at('access.log'), maxBytes: 0, keep: 2 });
    await vi.waitFor(() => expect(counts.written + counts.lost).toBe(5));
    expect(numbersIn(at('access.log'))).toEqual([2, 3, 4]);
    expect(counts.lost).toBe(1);
    await file.close(1_000);
    await reader.close();
  });

  it('begins with a whole line for the next reader of a FIFO if the first one left in the middle of a line', async () => {
    execFileSync('mkfifo', [at('fifo')]);
    const first = await readable(at('fifo'));
    const { file, counts } = create({ file: at('fifo') });
    // The kernel keeps 64 KiB: one line, and a part of the next.
    for (let i = 0; i < 5; i += 1) file.write(`${String(i).padStart(39_999, '0')}\n`);
    await vi.waitFor(() => expect(counts.written).toBe(1));
    await vi.waitFor(() => expect(file.waitingBytes).toBeLessThan(4 * 40_000));
    await first.close();
    await vi.waitFor(() => expect(counts.failures).toBeGreaterThan(0));
    const second = await readable(at('fifo'));
    let text = '';
    await vi.waitFor(async () => {
      text += await readAll(second);
      expect(counts.written + counts.lost).toBe(5);
    });
    text += await readAll(second);
    expect(text.split('\n').slice(0, -1).map(Number)).toEqual([2, 3, 4]);
    expect(counts.lost).toBe(1);
    await file.close(1_000);
    await second.close();
  });
});
