import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { residentBytesOf } from '../../../bench/load/proc.ts';
import { hasEnded, Processes } from '../../../bench/load/processes.ts';

const FOREVER = 'setInterval(() => {}, 1000);';

describe('started processes', () => {
  let folder = '';
  let processes: Processes;

  beforeEach(() => {
    folder = mkdtempSync(path.join(os.tmpdir(), 'd2-bench-test-'));
    processes = new Processes(folder);
  });

  afterEach(async () => {
    await processes.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('all end on close, and none starts afterwards', async () => {
    const node = { file: process.execPath, args: ['-e', FOREVER] };
    const children = [processes.start(node), processes.start(node)];
    expect(children.map(hasEnded)).toEqual([false, false]);
    await processes.close();
    expect(children.map(hasEnded)).toEqual([true, true]);
    expect(() => processes.start(node)).toThrow('interrupted');
  });

  it('take their own children with them, even one that ignores SIGTERM', async () => {
    const stubborn = `process.on('SIGTERM', () => {}); ${FOREVER} console.log('up');`;
    const script =
      `const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(stubborn)}]);` +
      `child.stdout.on('data', () => console.log(child.pid)); ${FOREVER}`;
    const parent = processes.start({ file: process.execPath, args: ['-e', script] });
    await new Promise((resolve) => parent.stdout?.once('data', resolve));
    const pid = Number(processes.outputOf(parent));
    expect(isAlive(pid)).toBe(true);
    await processes.stop(parent);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  it('put their temporary files into the given folder', async () => {
    const output = await processes.run(process.execPath, ['-p', 'require("node:os").tmpdir()']);
    expect(output.trim()).toBe(folder);
  });

  it('report the end of their output when they fail, and a missing program', async () => {
    const failing = processes.run(process.execPath, ['-e', 'console.error("no such luck"); process.exitCode = 3']);
    await expect(failing).rejects.toThrow(/ended with 3: no such luck/);
    await expect(processes.run('/no/such/program', [])).rejects.toThrow('ENOENT');
  });
});

/** A zombie counts as ended; it has no memory left. */
function isAlive(pid: number): boolean {
  return residentBytesOf(pid) > 0;
}
