/**
 * The JVM of the demo: a real one, if `java` is found. A JRE is enough, since the class is compiled already. The JVM
 * ends when its standard input closes, and the kernel closes that with this process, even if it is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { isErrno } from '../base/errors.ts';

export type SampleJvm =
  /** `pid` is the JVM's own, even if `java` is a script that starts it. `stop` resolves when the JVM has ended. */
  | { readonly kind: 'running'; readonly pid: number; stop(): Promise<void> }
  /** `reason`: e.g. `no java was found`. */
  | { readonly kind: 'none'; readonly reason: string };

const CLASS_NAME = 'SampleJvm';
/** A heap that fills in half a minute, with all sources of docs/jvm.md, whatever the machine's defaults are. */
const FLAGS = ['-Xms96m', '-Xmx96m', '-XX:+UseG1GC', '-XX:+UsePerfData', '-XX:+StartAttachListener'];
const FOREIGN_OPTIONS = ['JAVA_TOOL_OPTIONS', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS'];
const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 300;

/** Resolves when the JVM runs or has failed to start. The demo works without it, too. */
export async function startSampleJvm(env: NodeJS.ProcessEnv = process.env): Promise<SampleJvm> {
  let folder: string | undefined;
  try {
    folder = await mkdtemp(path.join(env.TMPDIR ?? tmpdir(), 'd2-sidecar-demo-'));
    await writeFile(path.join(folder, `${CLASS_NAME}.class`), SAMPLE_JVM_CLASS, 'base64');
    return await launch(folder, env);
  } catch (cause) {
    return { kind: 'none', reason: (cause as Error).message };
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function launch(folder: string, env: NodeJS.ProcessEnv): Promise<SampleJvm> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !FOREIGN_OPTIONS.includes(name)));
  const child = spawn(findJava(env), [...FLAGS, '-cp', folder, CLASS_NAME], {
    env: own,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  // If the JVM ends first, the pipe breaks; the exit event reports that already.
  child.stdin.on('error', () => undefined);
  const signal = AbortSignal.timeout(START_TIMEOUT_MS);
  const printed = once(createInterface({ input: child.stdout }), 'line', { signal });
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`java ended at its start with code ${code}`);
  });
  try {
    const [pid] = await Promise.race([printed, ended]);
    return { kind: 'running', pid: Number(pid), stop: () => end(child) };
  } catch (cause) {
    child.kill('SIGKILL');
    if (signal.aborted) throw new Error(`java did not start within ${START_TIMEOUT_MS / 1000} s`, { cause });
    throw isErrno(cause, 'ENOENT') ? new Error('no java was found, neither in JAVA_HOME nor in PATH') : cause;
  }
}

/** The `java` of `JAVA_HOME`, as Tomcat's scripts choose it, else the one in `PATH`. */
function findJava(env: NodeJS.ProcessEnv): string {
  const ofHome = path.join(env.JAVA_HOME ?? '', 'bin/java');
  return env.JAVA_HOME !== undefined && existsSync(ofHome) ? ofHome : 'java';
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  child.stdin?.end();
  await exited;
  clearTimeout(timer);
}

/** SampleJvm.java as compiled by JDK 17 with `javac --release 8 -g:none`, in Base64. Every JRE from 8 on runs it. */
export const SAMPLE_JVM_CLASS = `
yv66vgAAADQAXgoAAgADBwAEDAAFAAYBABBqYXZhL2xhbmcvVGhyZWFkAQAGPGluaXQ+AQADKClWBwAIAQACW0IJAAoACwcADAwADQAOAQAJU2FtcGxlSn
ZtAQAEa2VwdAEAA1tbQgUAAAAAAAAA+goACgASDAATABQBAARyZXN0AQAEKEopVgoACgAWDAAXABQBAAVzbGVlcAcAGQEAHmphdmEvbGFuZy9JbnRlcnJ1
cHRlZEV4Y2VwdGlvbgcAGwEAH2phdmEvbGFuZy9JbGxlZ2FsU3RhdGVFeGNlcHRpb24KABoAHQwABQAeAQAYKExqYXZhL2xhbmcvVGhyb3dhYmxlOylWCg
AKAAMKAAoAIQwAIgAjAQAJc2V0RGFlbW9uAQAEKFopVgoACgAlDAAmAAYBAAVzdGFydAoAKAApBwAqDAArAAYBABBqYXZhL2xhbmcvU3lzdGVtAQACZ2MJ
ACgALQwALgAvAQADb3V0AQAVTGphdmEvaW8vUHJpbnRTdHJlYW07BwAxAQAMamF2YS9pby9GaWxlCAAzAQAKL3Byb2Mvc2VsZgoAMAA1DAAFADYBABUoTG
phdmEvbGFuZy9TdHJpbmc7KVYKADAAOAwAOQA6AQAQZ2V0Q2Fub25pY2FsRmlsZQEAECgpTGphdmEvaW8vRmlsZTsKADAAPAwAPQA+AQAHZ2V0TmFtZQEA
FCgpTGphdmEvbGFuZy9TdHJpbmc7CgBAAEEHAEIMAEMANgEAE2phdmEvaW8vUHJpbnRTdHJlYW0BAAdwcmludGxuCQAoAEUMAEYARwEAAmluAQAVTGphdm
EvaW8vSW5wdXRTdHJlYW07CgBJAEoHAEsMAEwATQEAE2phdmEvaW8vSW5wdXRTdHJlYW0BAARyZWFkAQADKClJCgAoAE8MAFAAUQEABGV4aXQBAAQoSSlW
AQALUElFQ0VfQllURVMBAAFJAQANQ29uc3RhbnRWYWx1ZQMAAEAAAQAEQ29kZQEAA3J1bgEADVN0YWNrTWFwVGFibGUBAARtYWluAQAWKFtMamF2YS9sYW
5nL1N0cmluZzspVgEACkV4Y2VwdGlvbnMHAF0BABNqYXZhL2xhbmcvRXhjZXB0aW9uADEACgACAAAAAgAaAFIAUwABAFQAAAACAFUAEgANAA4AAAAEAAEA
BQAGAAEAVgAAABsAAgABAAAADyq3AAEqEQIAvQAHtQAJsQAAAAAAAQBXAAYAAQBWAAAAUwADAAMAAAAyAzwRQAC8CE0bEBBwmgATKrQACRsQEGwqtAAJvn
AsUxsQIHCaAAkUAA+4ABGEAQGn/9MAAAABAFgAAAAPAAP8AAIB/AAcBwAH+gAMAAoAEwAUAAEAVgAAADMAAwADAAAAEh64ABWnAA1NuwAaWSy3ABy/sQAB
AAAABAAHABgAAQBYAAAABwACRwcAGAkACQBZAFoAAgBWAAAAVQAEAAIAAAA6uwAKWbcAH0wrBLYAICu2ACS4ACeyACy7ADBZEjK3ADS2ADe2ADu2AD+yAE
S2AEibAAan//cDuABOsQAAAAEAWAAAAAkAAvwAKQcACgsAWwAAAAQAAQBcAAA=
`;
