/** A log that cannot be written, in this process and of a real one: it serves, counts lost lines, and ends on request. */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { LogOutput } from '../../../src/base/log-output.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { readSamples } from '../../support/monitor/prometheus/samples.ts';
import { portOf, send, startApplication, toUnusedPort } from '../../support/net.ts';
import { exitOf, MAIN_PATH, stopProcess } from '../../support/sidecar-process.ts';

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

  readOne(cause?: Error): void {
    this.#waiting?.(cause);
  }
}

const defer = deferTo(afterEach);

const temporary = (name: string) => path.join(temporaryFolder(defer), name);

function opened(file: string, flags: string | number = 'a'): number {
  const fd = openSync(file, flags);
  defer(() => closeSync(fd));
  return fd;
}

function makeFifo(): string {
  const fifo = temporary('fifo');
  execFileSync('mkfifo', [fifo]);
  return fifo;
}

it('a command says that its output cannot be written, but is silent when its reader has left', async () => {
  const printed = async (stdout: number | 'pipe') => {
    const child = spawn(process.execPath, [MAIN_PATH, 'print', 'schema'], { stdio: ['ignore', stdout, 'pipe'] });
    child.stdout?.destroy();
    let text = '';
    child.stderr?.setEncoding('utf8').on('data', (some: string) => (text += some));
    return { code: await exitOf(child), text: text.replace(/^d2-sidecar: warning: Node.*\n/, '') };
  };
  expect(await printed(opened('/dev/full'))).toEqual({
    code: 74,
    text: 'd2-sidecar: standard output cannot be written: ENOSPC\n',
  });
  expect(await printed('pipe')).toEqual({ code: 1, text: '' });
});

it('log lines wait for a slow reader up to a bound; lines past it are lost and counted until the queue is empty, and the log says how many', async () => {
  const reader = new SlowReader();
  // Of the descriptor only its type is read. Opened for both directions, so that open does not wait for a reader.
  const logger = createLogger('info', new LogOutput(opened(makeFifo(), constants.O_RDWR), () => reader));
  const note = 'n'.repeat(2_000);
  for (let count = 0; count < 1_000; count += 1) logger.info(note);
  const waiting = reader.writableLength;
  expect(waiting).toBeGreaterThan(1_048_576 - 2_100);
  expect(waiting).toBeLessThanOrEqual(1_048_576);
  const lost = logger.lostLines ?? 0;
  // Room for one line is not enough to resume: each line would be followed by a gap.
  reader.readOne();
  await expect.poll(() => reader.writableLength).toBeLessThan(waiting);
  logger.info(note);
  expect(logger.lostLines).toBe(lost + 1);
  reader.readAll();
  await expect.poll(() => reader.writableLength).toBe(0);
  logger.info('back');
  const parsed = () => reader.lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  await expect.poll(() => parsed().at(-1)?.msg).toBe('back');
  expect(parsed().at(-2)).toMatchObject({ level: 'warn', lost: lost + 1, name: 'd2-sidecar' });
  expect(parsed()).toHaveLength(1_000 - lost + 2);
});

it('log lines are counted as lost when their reader leaves, queued lines included', async () => {
  const reader = new SlowReader();
  const output = new LogOutput(opened(makeFifo(), constants.O_RDWR), () => reader);
  for (const line of ['one\n', 'two\n', 'three\n']) output.write(line);
  reader.readOne(new Error('write EPIPE'));
  await expect.poll(() => output.lostLines).toBe(3);
});

const upstream = await startApplication((_request, response) => response.end('fine'), deferTo(afterAll));

type Started = Awaited<ReturnType<typeof start>>;

/** With `stdout` as its standard output. Waits until it serves, since its log may say nothing. */
async function start(stdout: number, env = process.env) {
  const [listen, monitor] = [`127.0.0.1:${await toUnusedPort()}`, `127.0.0.1:${await toUnusedPort()}`];
  const url = `http://127.0.0.1:${upstream.port}/smartWeb`;
  const args = [MAIN_PATH, '--upstream', url, '--listen', listen, '--monitor', monitor];
  const started = spawn(process.execPath, args, { env, stdio: ['ignore', stdout, 'ignore'] });
  defer(() => stopProcess(started, exitOf(started), 'SIGKILL'));
  const startup = () => send(portOf(monitor), '/startupz').catch(() => ({ status: 0 }));
  await expect.poll(async () => (await startup()).status, { timeout: 15_000 }).toBe(200);
  return { child: started, listen, monitor };
}

async function lostLines({ monitor }: Started): Promise<number | undefined> {
  return (await readSamples(monitor)).get('d2_sidecar_log_lines_lost_total');
}

async function expectServing({ listen }: Started): Promise<void> {
  for (let count = 0; count < 3; count += 1) {
    expect((await send(portOf(listen), '/smartWeb/x')).body).toBe('fine');
  }
}

async function expectEnd({ child }: Started): Promise<void> {
  child.kill('SIGTERM');
  expect(await exitOf(child)).toBe(0);
}

function linesOf(text: string): Record<string, unknown>[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A full pipe with both ends in this process: the reader's, and the writer's as the sidecar gets it, blocking. */
function fullPipe() {
  const fifo = makeFifo();
  const reader = opened(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  const filling = Buffer.alloc(4_096, '.');
  filling[4_095] = 0x0a;
  try {
    for (;;) writeSync(reader, filling);
  } catch {
    // EAGAIN: full.
  }
  return { reader, writer: opened(fifo, constants.O_WRONLY) };
}

function readAll(reader: number): string {
  let text = '';
  const buffer = Buffer.alloc(65_536);
  try {
    for (let bytes = 1; bytes > 0; ) {
      bytes = readSync(reader, buffer);
      text += buffer.toString('utf8', 0, bytes);
    }
  } catch {
    // EAGAIN: empty.
  }
  return text;
}

describe('a sidecar whose log cannot be written', () => {
  it('starts and serves while its standard output is a full pipe, and writes the queued lines as soon as it is read', async () => {
    const { reader, writer } = fullPipe();
    const sidecar = await start(writer);
    await expectServing(sidecar);
    expect(await lostLines(sidecar)).toBe(0);
    let text = '';
    await expect
      .poll(() => {
        text += readAll(reader);
        return linesOf(text).some(({ msg }) => msg === 'listening');
      })
      .toBe(true);
    await expectEnd(sidecar);
    text += readAll(reader);
    expect(linesOf(text).at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('ends as it should when nobody reads its full pipe', async () => {
    await expectEnd(await start(fullPipe().writer));
  });

  it('loses and counts its lines on a full disk, serves and ends as it should', async () => {
    const sidecar = await start(opened('/dev/full', 'w'));
    await expectServing(sidecar);
    expect(await lostLines(sidecar)).toBeGreaterThan(0);
    await expectEnd(sidecar);
  });

  it('logs how many lines were lost once there is room in its file, and never merges two lines', async () => {
    const log = temporary('log');
    // Without the recorder of answers, which writes a file, too.
    const sidecar = await start(opened(log), { ...process.env, NODE_OPTIONS: '' });
    const limit = (bytes: number | 'unlimited') =>
      execFileSync('prlimit', ['--pid', String(sidecar.child.pid), `--fsize=${bytes}:`]);
    // Room for the beginning of a line.
    limit(statSync(log).size + 10);
    for (const signal of ['SIGUSR1', 'SIGALRM'] as const) sidecar.child.kill(signal);
    await expect.poll(() => lostLines(sidecar)).toBeGreaterThan(0);
    limit('unlimited');
    const lost = await lostLines(sidecar);
    await expectEnd(sidecar);
    const lines = readFileSync(log, 'utf8').trimEnd().split('\n');
    const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(told.filter((line) => line.lost !== undefined)).toMatchObject([{ level: 'warn', lost }]);
    expect(told.at(-1)).toMatchObject({ msg: 'stopped' });
  });
});
