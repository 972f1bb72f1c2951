/** A start and `check` warn once about a Node.js with known vulnerabilities, and say nothing about any other. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { describeHoles } from '../../src/base/advisories.ts';
import { MAIN_PATH } from '../support/sidecar-process.ts';

const FLAGS = ['--upstream', 'http://127.0.0.1:1/smartWeb', '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
/** Loaded before the program: it takes itself for another version of Node.js. */
const pretend = (version: string) =>
  `data:text/javascript,${encodeURIComponent(`Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } });`)}`;

/** The program's output; SIGTERM ends it once it listens. */
async function run(version: string, args: readonly string[]) {
  const stop = { D2_SIDECAR_STOP_DELAY: '0', D2_SIDECAR_STOP_WINDOW: '0' };
  const env = { ...process.env, ...stop, D2_SIDECAR_JVM_SOURCE: 'none' };
  const child = execFile(process.execPath, ['--import', pretend(version), MAIN_PATH, ...args], { env });
  const said = { stdout: '', stderr: '' };
  child.stderr?.on('data', (text: string) => {
    said.stderr += text;
  });
  child.stdout?.on('data', (text: string) => {
    said.stdout += text;
    if (said.stdout.includes('"listening"')) child.kill('SIGTERM');
  });
  const [code] = (await once(child, 'close')) as [number];
  return { code, ...said };
}

it.each(['22.23.3', '22.23.4', '27.0.0'])(
  'a start and check on Node.js %s say one warning each, or none',
  async (version) => {
    const holes = describeHoles(version);
    const { code, stdout } = await run(version, FLAGS);
    const warnings = [...stdout.matchAll(/^\{.*"level":"warn".*$/gm)].map(([line]) => JSON.parse(line).msg);
    expect([code, warnings]).toEqual([0, holes === undefined ? [] : [holes]]);
    const stderr = holes === undefined ? '' : `d2-sidecar: warning: ${holes}\n`;
    expect(await run(version, ['check', ...FLAGS])).toMatchObject({ code: 0, stderr });
  },
);
