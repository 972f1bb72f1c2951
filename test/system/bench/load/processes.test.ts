import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { residentBytesOf } from '../../../bench/load/proc.ts';
import { hasEnded, Processes } from '../../../bench/load/processes.ts';

const FOREVER = 'setInterval(() => {}, 1000);';

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

it('all processes end on close with their own children, even one that ignores SIGTERM, and none starts afterwards', async () => {
  const stubborn = `process.on('SIGTERM', () => {}); ${FOREVER} console.log('up');`;
  const script =
    `const child = require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(stubborn)}]);` +
    `child.stdout.on('data', () => console.log(child.pid)); ${FOREVER}`;
  const parent = processes.start({ file: process.execPath, args: ['-e', script] });
  await new Promise((resolve) => parent.stdout?.once('data', resolve));
  const pid = Number(processes.outputOf(parent));
  // A zombie counts as ended; it has no memory left.
  expect(residentBytesOf(pid)).toBeGreaterThan(0);
  await processes.close();
  expect(hasEnded(parent)).toBe(true);
  await expect.poll(() => residentBytesOf(pid)).toBe(0);
  expect(() => processes.start({ file: process.execPath, args: [] })).toThrow('interrupted');
});

it('a program puts its temporary files into the given folder', async () => {
  const output = await processes.run(process.execPath, ['-p', 'require("node:os").tmpdir()']);
  expect(output.trim()).toBe(folder);
});

it('a program that fails is reported with the end of its output, and so is a missing one', async () => {
  const failing = processes.run(process.execPath, ['-e', 'console.error("no such luck"); process.exitCode = 3']);
  await expect(failing).rejects.toThrow(/ended with 3: no such luck/);
  await expect(processes.run('/no/such/program', [])).rejects.toThrow('ENOENT');
});
