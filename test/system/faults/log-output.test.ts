import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { LogOutput } from '../../../src/base/log-output.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';

/** A pipe whose reader takes nothing until the test says so. */
class SlowReader extends Writable {
  readonly lines: string[] = [];
  #waiting: ((cause?: Error) => void) | undefined;
  #isReading = false;

  override _write(chunk: Buffer, _encoding: string, done: (cause?: Error) => void): void {
    this.lines.push(chunk.toString('utf8'));
    // Like libuv, not within the call.
    if (this.#isReading) setImmediate(done);
    else this.#waiting = done;
  }

  readAll(): void {
    this.#isReading = true;
    this.#waiting?.();
  }

  readOne(): void {
    this.#waiting?.();
  }

  leave(): void {
    this.#waiting?.(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  }
}

const defer = deferTo(afterEach);

const temporary = (name: string) => path.join(temporaryFolder(defer), name);

function opened(file: string, flags: string | number = 'a'): number {
  const fd = openSync(file, flags);
  defer(() => closeSync(fd));
  return fd;
}

const noStream = () => {
  throw new Error('not a pipe');
};

/** The descriptor of a pipe, of which only the type is read. */
function pipeDescriptor(): number {
  const fifo = temporary('fifo');
  execFileSync('mkfifo', [fifo]);
  // Opened for both directions, so that open does not wait for a reader.
  return opened(fifo, constants.O_RDWR);
}

describe('log lines to a pipe', () => {
  it('are written at once while the reader keeps up', async () => {
    const reader = new SlowReader();
    const output = new LogOutput(pipeDescriptor(), () => reader);
    output.write('one\n');
    expect(reader.lines).toEqual(['one\n']);
    expect(output.lostLines).toBe(0);
  });

  it('wait for a slow reader up to a bound; lines past it are lost and counted until the queue is empty', async () => {
    const reader = new SlowReader();
    const output = new LogOutput(pipeDescriptor(), () => reader);
    const told: number[] = [];
    output.whenRecovered((lost) => told.push(lost));
    const line = `${'x'.repeat(1_023)}\n`;
    for (let count = 0; count < 2_000; count += 1) output.write(line);
    expect(reader.writableLength).toBeLessThanOrEqual(1_048_576);
    expect(output.lostLines).toBe(2_000 - 1_024);
    expect(told).toEqual([]);
    // Room for one line is not enough to resume: each line would be followed by a gap.
    reader.readOne();
    await expect.poll(() => reader.writableLength).toBe(1_047_552);
    output.write(line);
    expect(output.lostLines).toBe(2_000 - 1_024 + 1);
    reader.readAll();
    await output.flush(1_000);
    await expect.poll(() => told).toEqual([2_000 - 1_024 + 1]);
    output.write('again\n');
    await expect.poll(() => reader.lines.at(-1)).toBe('again\n');
    expect(reader.lines).toHaveLength(1_025);
    expect(told).toHaveLength(1);
  });

  it('are counted as lost when the reader leaves, queued lines included', async () => {
    const reader = new SlowReader();
    const output = new LogOutput(pipeDescriptor(), () => reader);
    for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
    reader.leave();
    await expect.poll(() => output.lostLines).toBe(3);
    output.write('four\n');
    await expect.poll(() => output.lostLines).toBe(4);
  });

  it('are flushed at the end, within a deadline', async () => {
    const reader = new SlowReader();
    const output = new LogOutput(pipeDescriptor(), () => reader);
    output.write('one\n');
    const beganNs = performance.now();
    await output.flush(30);
    expect(performance.now() - beganNs).toBeGreaterThanOrEqual(20);
    expect(reader.writableLength).toBeGreaterThan(0);
  });
});

describe('log lines to a file', () => {
  it('are in the file when the call returns', () => {
    const file = temporary('log');
    new LogOutput(opened(file), noStream).write('žltý kôň\n');
    expect(readFileSync(file, 'utf8')).toBe('žltý kôň\n');
  });

  it('are lost and counted while the disk is full, without an exception', () => {
    const output = new LogOutput(opened('/dev/full'), noStream);
    for (let count = 0; count < 3; count += 1) output.write('line\n');
    expect(output.lostLines).toBe(3);
  });

  it('are lost and counted when the descriptor is closed', () => {
    const output = new LogOutput(1_000_000, noStream);
    output.write('line\n');
    expect(output.lostLines).toBe(1);
  });
});

describe('a logger', () => {
  it('counts lost lines, and logs how many once lines can be written again', async () => {
    const reader = new SlowReader();
    const logger = createLogger('info', new LogOutput(pipeDescriptor(), () => reader));
    const note = 'n'.repeat(2_000);
    for (let count = 0; count < 1_000; count += 1) logger.info(note);
    const lost = logger.lostLines ?? 0;
    expect(lost).toBeGreaterThan(400);
    reader.readAll();
    await expect.poll(() => reader.writableLength).toBe(0);
    logger.info('back');
    const parsed = () => reader.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    await expect.poll(() => parsed().at(-1)?.msg).toBe('back');
    expect(parsed().at(-2)).toMatchObject({ level: 'warn', lost, name: 'd2-sidecar' });
    expect(logger.lostLines).toBe(lost);
  });
});
