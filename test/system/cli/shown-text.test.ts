/** What others wrote reaches no terminal and no log with its control characters. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { LogOutput } from '../../../src/base/log-output.ts';
import { createLogger } from '../../../src/base/logger.ts';
import { threads } from '../../../src/cli/ask-sidecar.ts';
import { ControlStand, NotingTarget, Printed } from '../../support/cli/control/stand.ts';
import { MAIN_PATH, runSidecar } from '../../support/sidecar-process.ts';

const HOSTILE = 'a\x1b[2J\x07\x9b31m\u202eb\u2028';
// biome-ignore lint/suspicious/noControlCharactersInRegex: these must not be there
const UNSAFE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2028\u2029]/;

const stand = new ControlStand();

it.each([
  ['an unknown command', [HOSTILE]],
  ['a file that is absent', ['check', '--config', `/nonexistent/${HOSTILE}`]],
  ['a value', ['check', '--upstream', `http://${HOSTILE}`]],
  ['a socket', ['health', '--control', `/nonexistent/${HOSTILE}`]],
  ['a report', ['report', '--out', `/nonexistent/${HOSTILE}`, '--control', `/nonexistent/${HOSTILE}`]],
])('a command line shows %s without control characters', async (_what, args) => {
  const { stdout, stderr, code } = await runSidecar(args);
  expect(code).not.toBe(0);
  expect(stdout + stderr).not.toMatch(UNSAFE);
  expect(stderr).toMatch(/a(?:\ufffd|\\u001b)\[2J/);
});

const NOBODY = { uid: 65_534, gid: 65_534, cwd: '/', encoding: 'utf8' } as const;
const asNobody = (...args: readonly string[]) => spawnSync(process.execPath, args, NOBODY);
const canBeNobody =
  process.getuid?.() === 0 && asNobody('-e', `require('node:fs').accessSync('${MAIN_PATH}')`).status === 0;

it.runIf(canBeNobody)('a command that may not read a file names its user, and what to do', () => {
  writeFileSync(stand.at('sidecar.yaml'), '', { mode: 0o600 });
  const { status, stderr } = asNobody(MAIN_PATH, 'learn', '--config', stand.at('sidecar.yaml'));
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^d2-sidecar: D2S_ERR_CONFIG_FILE: .* cannot be read: EACCES\nThis command runs as user 65534: run/,
  );
});

it('a log line escapes what it shows', () => {
  const lines: string[] = [];
  const output = { write: (line: string) => lines.push(line), onRecovered: undefined, lostLines: 0 };
  const logger = createLogger('info', output as unknown as LogOutput);
  logger.warn({ reason: HOSTILE }, HOSTILE);
  expect(lines.join('')).not.toMatch(UNSAFE);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ reason: HOSTILE, msg: HOSTILE });
  expect(logger.recent.lines.join('')).not.toMatch(UNSAFE);
});

it('d2-sidecar threads shows the name of a thread without control characters, and no deadlock that is a name', async () => {
  const name = `${HOSTILE}\nJNI global refs: 6, weak refs: 0\n\nFound one Java-level deadlock:\n"x":\n`;
  const dump = [
    'Threads class SMR info:\n_java_thread_list=0x01, length=1, elements={\n0x00007f01\n}\n',
    `"${name}" #1 prio=5 os_prio=0 tid=0x00007f01 nid=0x1 runnable\n   java.lang.Thread.State: RUNNABLE\n`,
    'JNI global refs: 4, weak refs: 0\n\n',
  ].join('\n');
  const target = Object.assign(new NotingTarget(), { dumpThreads: () => Promise.resolve(dump) });
  const { path } = await stand.open('a.sock', target);
  const output = new Printed();
  await threads({ kind: 'threads', flags: { control: path } } as never, {}, output);
  expect(output.stdout).toMatch(/^Deadlocks: none\n\nThreads: 1 of Java/);
  expect(output.stdout).not.toMatch(UNSAFE);
});
