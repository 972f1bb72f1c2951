/** A real process whose log cannot be written: it serves, counts lost lines, and ends on request. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { readSamples } from '../../support/monitor/prometheus/samples.ts';
import { type Application, portOf, send, startApplication } from '../../support/net.ts';
import { exitOf, MAIN_PATH, stopProcess } from '../../support/sidecar-process.ts';
import { toUnusedPort } from '../../support/wire/unused-port.ts';

const defer = deferTo(afterEach);
let folder: string;
let upstream: Application;
/** The reader's end of a full pipe. */
let reader: number;

beforeEach(async () => {
  folder = temporaryFolder(defer);
  upstream = await startApplication((_request, response) => response.end('fine'));
  defer(() => upstream.close());
});

function opened(file: string, flags: string | number): number {
  const fd = openSync(file, flags);
  defer(() => closeSync(fd));
  return fd;
}

interface Started {
  readonly child: ChildProcess;
  readonly listen: string;
  readonly monitor: string;
}

/** With `stdout` as its standard output. Waits until it serves, since its log may say nothing. */
async function start(stdout: number): Promise<Started> {
  const [listen, monitor] = [`127.0.0.1:${await toUnusedPort()}`, `127.0.0.1:${await toUnusedPort()}`];
  const url = `http://127.0.0.1:${upstream.port}/smartWeb`;
  const args = [MAIN_PATH, '--upstream', url, '--listen', listen, '--monitor', monitor];
  const started = spawn(process.execPath, args, { stdio: ['ignore', stdout, 'ignore'] });
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

/** A full pipe with both ends in this process. */
function fullPipe(): number {
  const fifo = path.join(folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  reader = opened(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  const filling = Buffer.alloc(4_096, '.');
  filling[4_095] = 0x0a;
  try {
    for (;;) writeSync(reader, filling);
  } catch {
    // EAGAIN: full.
  }
  // As the sidecar gets it: blocking.
  return opened(fifo, constants.O_WRONLY);
}

function readAll(): string {
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

describe('a sidecar', () => {
  it('starts and serves while its standard output is a full pipe, and writes the queued lines as soon as it is read', async () => {
    const sidecar = await start(fullPipe());
    await expectServing(sidecar);
    expect(await lostLines(sidecar)).toBe(0);
    let text = '';
    await expect
      .poll(() => {
        text += readAll();
        return linesOf(text).some(({ msg }) => msg === 'listening');
      })
      .toBe(true);
    await expectEnd(sidecar);
    text += readAll();
    expect(linesOf(text).at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('ends as it should when nobody reads its full pipe', async () => {
    await expectEnd(await start(fullPipe()));
  });

  it('loses and counts its lines on a full disk, serves and ends as it should', async () => {
    const sidecar = await start(opened('/dev/full', 'w'));
    await expectServing(sidecar);
    expect(await lostLines(sidecar)).toBeGreaterThan(0);
    await expectEnd(sidecar);
  });

  it('logs how many lines were lost once its disk has room, and never merges two lines', async (context) => {
    const disk = mountSmallDisk(path.join(folder, 'disk'));
    if (disk === undefined) {
      context.skip('a small disk can be made by root only');
      return;
    }
    defer(() => execFileSync('umount', [disk]));
    const [log, filling] = [path.join(disk, 'log'), path.join(disk, 'filling')];
    writeFileSync(log, '');
    fill(disk, filling);
    const sidecar = await start(opened(log, 'a'));
    await expectServing(sidecar);
    const lost = await lostLines(sidecar);
    unlinkSync(filling);
    await expectEnd(sidecar);
    const text = readFileSync(log, 'utf8');
    const lines = linesOf(text);
    // The first line may have begun in the rest of the last page.
    expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
    if (lost !== 0) expect(lines.find(({ lost: told }) => told !== undefined)).toMatchObject({ level: 'warn', lost });
    expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
  });
});

/** A disk of 64 KiB in memory; undefined where mounting is not allowed. */
function mountSmallDisk(folderOf: string): string | undefined {
  execFileSync('mkdir', [folderOf]);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', folderOf], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  return existsSync(folderOf) ? folderOf : undefined;
}

function fill(disk: string, file: string): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(file, Buffer.alloc(bavail * bsize));
}
