import { execFileSync } from 'node:child_process';
import fs, { chmodSync, existsSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { LineFile, type LineFileLimits, type LineFileOptions } from '../../../../src/export/access-log/line-file.ts';
import { useFolder } from '../../../support/export/access-log/folder.ts';
import { giveToOther } from '../../../support/other-user.ts';

const at = useFolder();
const RETRY_MS = 5;
const OPEN_TO_ALL = /^every user of this machine may write to it \(mode 0666\), expected 0600 or 0640$/;
const LINE = `${'x'.repeat(99)}\n`;

function create(options: Partial<LineFileOptions> = {}, limits: LineFileLimits = {}) {
  const counts = { written: 0, lost: 0, failures: 0, rotations: 0 };
  const told: [fields: Record<string, unknown>, message: string][] = [];
  const log = (fields: unknown, message?: string) => void told.push([fields as never, message ?? '']);
  const logger = { debug: log, info: log, warn: log, error: log };
  const all = { file: at('access.log'), maxBytes: 0, keep: 2, ...options };
  const file = new LineFile(all, counts, logger, { retryMs: RETRY_MS, ...limits });
  onTestFinished(() => file.close(0));
  const write = (first: number, count: number) => {
    for (let i = first; i < first + count; i += 1) file.write(`${i}\n`);
  };
  const writeAll = async (first: number, count: number) => {
    write(first, count);
    await file.close(5_000);
  };
  const written = (count: number) => vi.waitFor(() => expect(counts.written).toBe(count));
  const failed = () => vi.waitFor(() => expect(counts.failures).toBeGreaterThan(0));
  return { file, counts, told, write, writeAll, written, failed };
}

const toNumbers = (text: string) => text.split('\n').slice(0, -1).map(Number);
const textIn = (name: string) => readFileSync(at(name), 'utf8');
const numbersIn = (name: string) => toNumbers(textIn(name));

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

async function createFifo(): Promise<string> {
  execFileSync('mkfifo', [at('fifo')]);
  return at('fifo');
}

/** The reading end of a FIFO. `read` resolves to all that it has read. */
async function openReader(path: string) {
  const handle = await open(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
  const close = () => handle.close();
  onTestFinished(close);
  let text = '';
  const read = async (): Promise<string> => {
    const nothing = { buffer: Buffer.alloc(0), bytesRead: 0 };
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(1e6), 0, 1e6).catch(() => nothing);
    text += buffer.toString('utf8', 0, bytesRead);
    return text;
  };
  return { read, close };
}

/** A FIFO with five lines of 40 kB written to it. The kernel keeps 64 KiB: one line, and a part of the next. */
async function createHalfRead() {
  const fifo = await createFifo();
  const reader = await openReader(fifo);
  const created = create({ file: fifo });
  for (let i = 0; i < 5; i += 1) created.file.write(`${String(i).padStart(39_999, '0')}\n`);
  await created.written(1);
  await vi.waitFor(() => expect(created.file.waitingBytes).toBeLessThan(4 * 40_000));
  return { ...created, fifo, reader };
}

describe('a file of lines', () => {
  it('has its lines in order, and is private', async () => {
    const { counts, write, written, writeAll } = create();
    write(0, 1);
    // Without waiting for more lines or the end.
    await written(1);
    await writeAll(1, 19_999);
    expect(numbersIn('access.log')).toEqual(upTo(20_000));
    expect(statSync(at('access.log')).mode & 0o777).toBe(0o600);
    expect(counts).toEqual({ written: 20_000, lost: 0, failures: 0, rotations: 0 });
    write(0, 3);
    expect(counts.lost, 'after it is closed').toBe(3);
  });

  describe('is refused and not changed, with a warning that has the reason,', () => {
    afterEach(() => vi.restoreAllMocks());

    it.each([
      ['is a link of another user', 'link', /is a symbolic link owned by uid \d+, expected the owner to be root/],
      ['belongs to another user', 'file', /^it belongs to uid \d+, expected root/],
      ['may be written by all', 'mode', OPEN_TO_ALL],
      // Where fs.protected_fifos is set, the kernel refuses it first.
      ['is a FIFO of another user in a folder of all', 'fifo', /^(it belongs to uid \d+, expected root|EACCES$)/],
    ] as const)('if it %s', async (_what, kind, reason) => {
      const path = at('access.log');
      const target = kind === 'link' ? at('target') : path;
      if (kind === 'fifo') execFileSync('mkfifo', [path]);
      else writeFileSync(target, 'before\n');
      if (kind === 'link') symlinkSync(target, path);
      const reader = kind === 'fifo' ? await openReader(path) : undefined;
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
      if (reader === undefined) expect(readFileSync(target, 'utf8')).toBe('before\n');
      else expect(await reader.read()).toBe('');
    });

    it('but not if it is our own link, or a FIFO in a folder of its reader', async () => {
      symlinkSync('target', at('access.log'));
      const { writeAll } = create();
      await writeAll(0, 2);
      expect(numbersIn('target')).toEqual([0, 1]);
      const fifo = await createFifo();
      const reader = await openReader(fifo);
      giveToOther(fifo);
      const other = create({ file: fifo });
      await other.writeAll(0, 2);
      expect(await reader.read()).toBe('0\n1\n');
    });
  });

  it('begins a new line if a crash has cut the last one short', async () => {
    writeFileSync(at('access.log'), '{"time":"2026-03');
    const { writeAll } = create({ maxBytes: 20, keep: 1 });
    await writeAll(0, 1);
    expect(textIn('access.log')).toBe('{"time":"2026-03\n0\n');
    const again = create({ maxBytes: 19, keep: 1 });
    await again.writeAll(1, 1);
    expect(textIn('access.log.1')).toBe('{"time":"2026-03\n0\n');
    expect(textIn('access.log')).toBe('1\n');
  });
});

it('a file that has become too large is rotated each time, and only the configured number is kept', async () => {
  const { file, counts, write, written } = create({ maxBytes: 100, keep: 2 });
  for (let first = 0; first < 100; first += 20) {
    write(first, 20);
    await written(first + 20);
  }
  await file.close(5_000);
  // 10 lines of 2 bytes and then 3 each: the size is looked at before each batch.
  const kept = ['access.log.2', 'access.log.1', 'access.log'].flatMap((name) => numbersIn(name));
  expect(kept).toEqual(upTo(100).slice(-kept.length));
  expect(counts.rotations).toBeGreaterThanOrEqual(2);
  expect(existsSync(at('access.log.3'))).toBe(false);
  expect(counts.lost).toBe(0);
});

describe('a file that cannot be written', () => {
  it('on a full disk keeps what fits into memory, counts the rest as lost, and warns once', async () => {
    const { file, counts, told } = create({ file: '/dev/full' }, { maxWaitingBytes: 1_000 });
    for (let i = 0; i < 15; i += 1) file.write(LINE);
    await vi.waitFor(() => expect(counts.failures).toBeGreaterThan(2));
    expect(counts).toMatchObject({ written: 0, lost: 5 });
    expect(file.waitingBytes).toBe(1_000);
    expect(told.map(([fields]) => fields)).toEqual([
      expect.objectContaining({ code: 'D2S_ERR_ACCESS_LOG', file: '/dev/full' }),
    ]);
    await file.close(100);
    expect(counts.lost).toBe(15);
  });

  it.each([
    ['in a missing folder', () => at('later/access.log'), 'ENOENT', () => fs.mkdirSync(at('later'))],
    ['that is a FIFO without a reader', createFifo, 'ENXIO', () => openReader(at('fifo'))],
  ])('never blocks its writer %s, and gets the lines that waited later', async (_, toFile, reason, help) => {
    const file = await toFile();
    const { told, write, failed, written } = create({ file });
    write(0, 10);
    await failed();
    const reader = await help();
    await written(10);
    expect(toNumbers(reader === undefined ? readFileSync(file, 'utf8') : await reader.read())).toEqual(upTo(10));
    expect(told[0]?.[0]).toMatchObject({ reason });
    expect(told.at(-1)?.[0]).toMatchObject({ lost: 0 });
  });

  it('keeps lines for a slow reader of a FIFO up to its limit, and then leaves a gap of whole lines', async () => {
    const fifo = await createFifo();
    const reader = await openReader(fifo);
    const { file, counts, told } = create({ file: fifo }, { maxWaitingBytes: 100_000 });
    const lines = Array.from({ length: 3_000 }, (_, i) => `${String(i).padStart(99, '0')}\n`);
    for (const line of lines.slice(0, 900)) file.write(line);
    // 64 KiB are the kernel's.
    await vi.waitFor(() => expect(counts.written).toBeGreaterThan(600));
    expect(told).toEqual([]);
    for (const line of lines.slice(900)) file.write(line);
    expect(counts.lost).toBeGreaterThan(500);
    expect(told[0]?.[0]).toMatchObject({ reason: 'its reader is too slow' });
    await vi.waitFor(async () => {
      await reader.read();
      expect(counts.written + counts.lost).toBe(3_000);
    });
    const got = toNumbers(await reader.read());
    expect(got).toEqual(upTo(got.length));
    expect(got.length).toBe(counts.written);
    await vi.waitFor(() => expect(told.at(-1)?.[1]).toBe('the access log is written again'));
    expect(told.at(-1)?.[0]).toMatchObject({ lost: counts.lost });
  });

  it('stays in use if the new one cannot be opened, until the configuration names one that can be', async () => {
    const { file, counts, told, write, written, writeAll } = create();
    file.reconfigure({ file: at('nowhere/access.log'), maxBytes: 0, keep: 2 });
    write(0, 5);
    await written(5);
    expect(numbersIn('access.log')).toEqual(upTo(5));
    expect(told[0]?.[0]).toMatchObject({ file: at('nowhere/access.log'), reason: 'ENOENT' });
    file.reconfigure({ file: at('other.log'), maxBytes: 0, keep: 2 });
    await writeAll(5, 5);
    expect([numbersIn('other.log'), counts.lost]).toEqual([[5, 6, 7, 8, 9], 0]);
  });

  it('ends in its time although nobody reads a FIFO', async () => {
    const { file, counts } = await createHalfRead();
    await file.close(20);
    expect(counts).toMatchObject({ written: 1, lost: 4 });
  });

  it('begins with a whole line for the next reader of a FIFO if the first one left in the middle of a line', async () => {
    const { counts, failed, fifo, reader } = await createHalfRead();
    await reader.close();
    await failed();
    const second = await openReader(fifo);
    await vi.waitFor(async () => {
      await second.read();
      expect(counts.written + counts.lost).toBe(5);
    });
    expect(toNumbers(await second.read())).toEqual([2, 3, 4]);
    expect(counts.lost).toBe(1);
  });
});
