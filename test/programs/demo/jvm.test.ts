import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startSampleJvm } from '../../../src/demo/jvm.ts';
import { SAMPLE_JVM_CLASS } from '../../../src/demo/jvm-class.ts';
import { isAvailable } from '../../support/programs.ts';

const SOURCE = path.resolve(import.meta.dirname, '../../../src/demo/SampleJvm.java');
/** Another compiler may write the same class in another way. */
const hasCompiler = isAvailable(
  'a JDK',
  /^javac 17\./.test(spawnSync('javac', ['-version'], { encoding: 'utf8' }).stdout ?? ''),
);
const hasJava = isAvailable('a JDK', spawnSync('java', ['-version']).status === 0);

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function createFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'd2s-demo-jvm-'));
  folders.push(folder);
  return folder;
}

/** A `PATH` where `java` is this script. */
function pathWithJava(script: string): string {
  const folder = createFolder();
  writeFileSync(path.join(folder, 'java'), `#!/bin/sh\n${script}\n`);
  chmodSync(path.join(folder, 'java'), 0o755);
  return `${folder}:${process.env.PATH}`;
}

describe('the class of the JVM', () => {
  it.runIf(hasCompiler)('equals the compiled source', () => {
    const folder = createFolder();
    execFileSync('javac', ['--release', '8', '-g:none', '-d', folder, SOURCE]);
    expect(readdirSync(folder)).toEqual(['SampleJvm.class']);
    const embedded = Buffer.from(SAMPLE_JVM_CLASS, 'base64').toString('base64');
    expect(embedded).toBe(readFileSync(path.join(folder, 'SampleJvm.class'), 'base64'));
  });
});

describe('the JVM of the demo', () => {
  it.runIf(hasJava)('runs, leaves no file behind, and ends on stop', async () => {
    const temporary = createFolder();
    const env = { ...process.env, TMPDIR: temporary, JAVA_TOOL_OPTIONS: '-javaagent:absent.jar' };
    const jvm = await startSampleJvm(env);
    if (jvm.kind === 'none') expect.fail(jvm.reason);
    expect(readFileSync(`/proc/${jvm.pid}/cmdline`, 'utf8')).toContain('SampleJvm');
    expect(readdirSync(temporary)).toEqual([]);
    await jvm.stop();
    expect(() => readFileSync(`/proc/${jvm.pid}/cmdline`)).toThrow('ENOENT');
    await jvm.stop();
  });

  it.runIf(hasJava)('has its own process id even if java is a script', async () => {
    const jvm = await startSampleJvm({
      ...process.env,
      JAVA_HOME: undefined,
      PATH: pathWithJava(`PATH='${process.env.PATH}'\njava "$@"\nexit 0`),
    });
    if (jvm.kind === 'none') expect.fail(jvm.reason);
    expect(readFileSync(`/proc/${jvm.pid}/comm`, 'utf8')).toBe('java\n');
    expect(readFileSync(`/proc/${jvm.pid}/cmdline`, 'utf8')).not.toContain('/bin/sh');
    await jvm.stop();
  });

  it('is absent without java', async () => {
    const reason = 'no java was found, neither in JAVA_HOME nor in PATH';
    expect(await startSampleJvm({ PATH: '/nonexistent' })).toEqual({ kind: 'none', reason });
  });

  it('is absent if java ends at once', async () => {
    const reason = 'java ended at its start with code 3';
    const env = { PATH: pathWithJava('exit 3') };
    expect(await startSampleJvm(env)).toEqual({ kind: 'none', reason });
  });

  it('is absent if its class cannot be written', async () => {
    const jvm = await startSampleJvm({ ...process.env, TMPDIR: '/nonexistent' });
    expect(jvm).toEqual({ kind: 'none', reason: expect.stringMatching(/^ENOENT: .*\/nonexistent/) });
  });
});
