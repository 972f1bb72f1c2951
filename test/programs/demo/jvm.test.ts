import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { SAMPLE_JVM_CLASS, startSampleJvm } from '../../../src/demo/jvm.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { hasProgram, isAvailable } from '../../support/programs.ts';

const SOURCE = path.resolve(import.meta.dirname, '../../../src/demo/SampleJvm.java');
/** Another compiler may write the same class in another way. */
const hasCompiler = isAvailable(
  'a JDK',
  /^javac 17\./.test(spawnSync('javac', ['-version'], { encoding: 'utf8' }).stdout ?? ''),
);
const hasJava = isAvailable('a JDK', hasProgram('java'));

const defer = deferTo(afterAll);

function pathWithJava(script: string): string {
  const folder = temporaryFolder(defer);
  writeFileSync(path.join(folder, 'java'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return `${folder}:${process.env.PATH}`;
}

it.runIf(hasCompiler)('the class of the JVM equals the compiled source', () => {
  const folder = temporaryFolder(defer);
  execFileSync('javac', ['--release', '8', '-g:none', '-d', folder, SOURCE]);
  expect(readdirSync(folder)).toEqual(['SampleJvm.class']);
  const embedded = Buffer.from(SAMPLE_JVM_CLASS, 'base64').toString('base64');
  expect(embedded).toBe(readFileSync(path.join(folder, 'SampleJvm.class'), 'base64'));
});

describe('the JVM of the demo', () => {
  it.runIf(hasJava)('runs, leaves no file behind, and ends on stop', async () => {
    const temporary = temporaryFolder(defer);
    const env = { ...process.env, TMPDIR: temporary, JAVA_TOOL_OPTIONS: '-javaagent:absent.jar' };
    const jvm = await startSampleJvm(env);
    if (jvm.kind === 'none') expect.fail(jvm.reason);
    expect(readFileSync(`/proc/${jvm.pid}/cmdline`, 'utf8')).toContain('SampleJvm');
    expect(readdirSync(temporary)).toEqual([]);
    await jvm.stop();
    expect(() => readFileSync(`/proc/${jvm.pid}/cmdline`)).toThrow('ENOENT');
    await jvm.stop();
  });

  it.each([
    ['without java', { PATH: '/nonexistent' }, /^no java was found, neither in JAVA_HOME nor in PATH$/],
    ['if java ends at once', { PATH: pathWithJava('exit 3') }, /^java ended at its start with code 3$/],
    ['if its class cannot be written', { ...process.env, TMPDIR: '/nonexistent' }, /^ENOENT: .*\/nonexistent/],
  ])('is absent %s', async (_, env, reason) => {
    expect(await startSampleJvm(env)).toEqual({ kind: 'none', reason: expect.stringMatching(reason) });
  });
});
