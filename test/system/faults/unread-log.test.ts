/** A real process whose log cannot be written: it serves, counts lost lines, and ends on request. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { samplesOf } from '../../support/monitor/prometheus/samples.ts';
import { exitOf, MAIN_PATH, stopProcess } from '../../support/sidecar-process.ts';
import { toUnusedPort } from '../../support/wire/unused-port.ts';

const LOST = 'd2_sidecar_log_lines_lost_total';

let folder: string;
let upstream: http.Server;
let child: ChildProcess | undefined;
const descriptors: number[] = [];

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2-sidecar-log-'));
  upstream = http.createServer((_request, response) => response.end('fine'));
  await new Promise<void>((resolve) => void upstream.listen(0, '127.0.0.1', resolve));
});

afterEach(async () => {
  if (child !== undefined) await stopProcess(child, exitOf(child), 'SIGKILL');
  child = undefined;
  for (const fd of descriptors.splice(0)) closeSync(fd);
  upstream.closeAllConnections();
  upstream.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly child: ChildProcess;
  readonly listen: string;
  readonly monitor: string;
}

/** With `stdout` as its standard output. Waits until it serves, since its log may say nothing. */
async function start(stdout: number): Promise<Started> {
  const [listen, monitor] = [`127.0.0.1:${await toUnusedPort()}`, `127.0.0.1:${await toUnusedPort()}`];
  const { port } = upstream.address() as AddressInfo;
  const addresses = ['--upstream', `http://127.0.0.1:${port}/smartWeb`, '--listen', listen, '--monitor', monitor];
  const started = spawn(process.execPath, [MAIN_PATH, ...addresses], { stdio: ['ignore', stdout, 'ignore'] });
  child = started;
  await expect.poll(() => statusOf(`http://${monitor}/startupz`), { timeout: 15_000 }).toBe(200);
  return { child: started, listen, monitor };
}

async function statusOf(url: string): Promise<number> {
  return await fetch(url).then(
    ({ status }) => status,
    () => 0,
  );
}

async function lostLines(monitor: string): Promise<number | undefined> {
  return samplesOf(await (await fetch(`http://${monitor}/metrics`)).text()).get(LOST);
}

async function expectServing({ listen }: Started): Promise<void> {
  for (let count = 0; count < 3; count += 1) {
    expect(await (await fetch(`http://${listen}/smartWeb/x`)).text()).toBe('fine');
  }
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
  const fd = openSync(fifo, constants.O_RDWR | constants.O_NONBLOCK);
  descriptors.push(fd);
  const filling = Buffer.alloc(4_096, '.');
  filling[4_095] = 0x0a;
  try {
    for (;;) writeSync(fd, filling);
  } catch {
    // EAGAIN: full.
  }
  // As the sidecar gets it: blocking.
  const blocking = openSync(fifo, constants.O_WRONLY);
  descriptors.push(blocking);
  return blocking;
}

function readAll(fd: number): string {
  let text = '';
  const buffer = Buffer.alloc(65_536);
  try {
    for (let bytes = 1; bytes > 0; ) {
      bytes = readSync(fd, buffer);
      text += buffer.toString('utf8', 0, bytes);
    }
  } catch {
    // EAGAIN: empty.
  }
  return text;
}

describe('a sidecar', () => {
  it('starts, serves and ends as it should when standard output is a full pipe that is not read', async () => {
    const sidecar = await start(fullPipe());
    await expectServing(sidecar);
    expect(await lostLines(sidecar.monitor)).toBe(0);
    sidecar.child.kill('SIGTERM');
    expect(await exitOf(sidecar.child)).toBe(0);
  });

  it('writes the queued lines as soon as its full pipe is read', async () => {
    const sidecar = await start(fullPipe());
    let text = '';
    await expect
      .poll(() => {
        text += readAll(descriptors[0] as number);
        return linesOf(text).some(({ msg }) => msg === 'listening');
      })
      .toBe(true);
    sidecar.child.kill('SIGTERM');
    expect(await exitOf(sidecar.child)).toBe(0);
    text += readAll(descriptors[0] as number);
    expect(linesOf(text).at(-1)).toMatchObject({ msg: 'stopped' });
  });

  it('loses and counts its lines on a full disk, serves and ends as it should', async () => {
    const full = openSync('/dev/full', 'w');
    descriptors.push(full);
    const sidecar = await start(full);
    await expectServing(sidecar);
    expect(await lostLines(sidecar.monitor)).toBeGreaterThan(0);
    sidecar.child.kill('SIGTERM');
    expect(await exitOf(sidecar.child)).toBe(0);
  });

  it('logs how many lines were lost once its disk has room, and never merges two lines', async (context) => {
    const disk = mountSmallDisk(path.join(folder, 'disk'));
    if (disk === undefined) {
      context.skip('a small disk can be made by root only');
      return;
    }
    try {
      const [log, filling] = [path.join(disk, 'log'), path.join(disk, 'filling')];
      writeFileSync(log, '');
      const fd = openSync(log, 'a');
      descriptors.push(fd);
      fill(disk, filling);
      const sidecar = await start(fd);
      await expectServing(sidecar);
      const lost = await lostLines(sidecar.monitor);
      unlinkSync(filling);
      sidecar.child.kill('SIGTERM');
      expect(await exitOf(sidecar.child)).toBe(0);
      const text = readFileSync(log, 'utf8');
      const lines = linesOf(text);
      // The first line may have begun in the rest of the last page.
      expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).toEqual([]);
      if (lost !== 0) expect(lines.find(({ lost: told }) => told !== undefined)).toMatchObject({ level: 'warn', lost });
      expect(lines.at(-1)).toMatchObject({ msg: 'stopped' });
    } finally {
      for (const fd of descriptors.splice(0)) closeSync(fd);
      execFileSync('umount', [disk]);
    }
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
