/**
 * The zip for Windows in Wine: installed, run as a service, upgraded and removed. Node.js 22 stands in for the executable, whose Node.js
 * Wine 8 cannot start. docs/windows.md says what Wine cannot show.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { deferTo } from '../../support/deferred.ts';
import { run } from '../../support/install/run.ts';
import { sampleBytes } from '../../support/jvm/hsperfdata/samples.ts';
import { portOf, restCall, send, startApplication } from '../../support/net.ts';
import { isAvailable } from '../../support/programs.ts';
import { type LogLine, runSidecar } from '../../support/sidecar-process.ts';
import { hasWine, startWindows, type Windows } from '../../support/windows/wine.ts';

const isInstalled = (name: string) => existsSync(`/usr/bin/${name}`);
const SLOW_MS = 120_000;
/** Wine makes its folders, on a busy machine. */
const SETUP_MS = 300_000;
const SLOW = { timeout: SLOW_MS };
const canRun =
  isAvailable('a compiler for Windows, and unzip', ['x86_64-w64-mingw32-gcc-win32', 'unzip'].every(isInstalled)) &&
  hasWine();
const defer = deferTo(afterAll);
/** Its counters file is a sample, in the temporary folder of services. */
const JVM = 4242;
const LOG_BYTES = 10 * 1_024 * 1_024;

describe.runIf(canRun)('the zip for Windows', () => {
  let windows: Windows;
  let config: object;
  const at = (name: string) => path.join(windows.folder, name);
  const inData = (name: string) => windows.toPosix(`C:\\ProgramData\\d2-sidecar\\${name}`);
  const inProgram = (name: string) => windows.toPosix(`C:\\Program Files\\d2-sidecar\\${name}`);
  /** `d2-sidecar.exe service ...` is here `node.exe service ...`, which runs the script of that name. */
  const type = (...words: readonly string[]) => windows.run(words, at('stand-in'));
  const host = (command: string) => type('C:\\Program Files\\d2-sidecar\\d2-sidecar-service.exe', command);
  /** Wine's `net start` does not wait. */
  const start = async () => {
    expect((await type('net.exe', 'start', 'd2-sidecar')).code).toBe(0);
    await expect.poll(async () => (await host('status')).stdout, SLOW).toContain('running');
  };
  const zip = (folder: string) => at(`${folder}/d2-sidecar-1.2.3-windows-x64.zip`);
  const make = (folder: string, executable: string, env = {}) =>
    run('node', ['scripts/windows-zip.mjs', at(folder), '--executable', executable, '--version', '1.2.3'], { env });
  const write = (file: string, text = stringify(config)) => writeFileSync(file, text);

  /** The log since the last start. */
  function readLog(): readonly LogLine[] {
    const text = readFileSync(inData('d2-sidecar.log'), 'utf8');
    const lines = text.slice(text.lastIndexOf('{"level":"info"', text.lastIndexOf('"msg":"starting"'))).trim();
    return lines.split('\n').map((line) => JSON.parse(line) as LogLine);
  }
  const listening = () => readLog().find(({ msg }) => msg === 'listening') ?? {};
  const countCalls = async () => {
    const { body } = await send(portOf(String(listening().monitor)), '/smartWeb/api/rest/v0/admin/metrics/d2/rpc');
    return (JSON.parse(body) as { timers: { rpc: { count: number } } }).timers.rpc.count;
  };

  beforeAll(async () => {
    windows = await startWindows(defer);
    // Windows stops, with its services, when the last program of its user ends.
    const [wine = '', ...words] = windows.wine;
    const console = spawn(wine, [...words, 'cmd.exe'], { stdio: ['pipe', 'ignore', 'ignore'] });
    defer(() => console.stdin.end());
    const upstream = await startApplication((_, response) => response.end('{"value":1}'), defer);
    config = {
      upstream: { url: `http://127.0.0.1:${upstream.port}/smartWeb` },
      ...{ listen: { host: '127.0.0.1', port: 0 }, monitor: { port: 0 }, jvm: { pid: JVM } },
      ...{ state: { file: 'C:\\ProgramData\\d2-sidecar\\state' }, stop: { delay: 0, window: 0 } },
    };
    const counters = windows.toPosix('C:\\windows\\temp\\hsperfdata_LOCAL SERVICE');
    mkdirSync(counters);
    writeFileSync(path.join(counters, String(JVM)), sampleBytes('jdk25-g1'));
    mkdirSync(at('stand-in'));
    // Paths of this machine are on drive Z.
    const main = JSON.stringify(`Z:${at('dist/main.js')}`);
    const script = `process.argv.splice(1, 1, ${main}, 'service'); await import(pathToFileURL(${main}));`;
    write(at('stand-in/service.js'), `import { pathToFileURL } from 'node:url'; ${script}`);
  }, SETUP_MS);

  it('is the same for the same files, in every time zone, and cmd.exe reads its scripts', SLOW, async () => {
    write(at('program.exe'), 'MZ: a program of Windows');
    for (const [folder, TZ] of Object.entries({ one: 'UTC', two: 'Pacific/Auckland' }))
      expect(await make(folder, at('program.exe'), { TZ })).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(zip('one')).equals(readFileSync(zip('two')))).toBe(true);
    expect((await make('three', 'README.md')).stderr).toContain('README.md is no program for Windows');
    await run('unzip', ['-q', zip('one'), '-d', windows.folder]);
    const programs = ['d2-sidecar-service.exe', 'd2-sidecar.exe', 'install.cmd', 'uninstall.cmd'];
    const files = ['LICENSE.txt', 'README.txt', 'schema.json', 'sidecar.yaml'];
    expect(readdirSync(at('d2-sidecar-1.2.3')).sort()).toEqual([...programs, ...files].sort());
    for (const name of ['install.cmd', 'uninstall.cmd', 'README.txt'])
      expect(readFileSync(at(`d2-sidecar-1.2.3/${name}`), 'latin1'), name).toMatch(/^(?:[\x20-\x7e]*\r\n)+$/);
  });

  it('its configuration can be used', SLOW, async () => {
    const words = ['dist/main.js', 'check', '--config', 'config/windows/sidecar.yaml'];
    const { code, stdout, stderr } = await run('node', words);
    expect([code, stdout]).toEqual([0, expect.stringContaining('file: C:\\ProgramData\\d2-sidecar\\state')]);
    expect(stderr.split('\n').filter((line) => !line.includes('state.file'))).toEqual(['']);
  });

  it('says what is missing: the service without the zip, the attach socket of a JVM', SLOW, async () => {
    const missing = await runSidecar(['service', 'status'], {}, windows.command);
    expect([missing.code, missing.stderr]).toEqual([64, expect.stringContaining('d2-sidecar-service.exe is missing')]);
    const checked = await runSidecar(['check', '--upstream', 'http://127.0.0.1:8080/smartWeb'], {}, windows.command);
    expect([checked.code, checked.stdout]).toEqual([0, expect.stringMatching(/^# jvm: on Windows .*jvm\.http/m)]);
  });

  it('is installed from a folder with blanks and Czech letters, serves and counts', SLOW, async () => {
    write(at('d2-sidecar-1.2.3/sidecar.yaml'));
    copyFileSync(windows.node, at('d2-sidecar-1.2.3/d2-sidecar.exe'));
    const installed = await type('cmd.exe', '/c', at('d2-sidecar-1.2.3/install.cmd'));
    expect(installed.stdout + installed.stderr).toContain('netsh advfirewall');
    expect(installed.code).toBe(0);
    expect(await host('status')).toMatchObject({ code: 0, stdout: expect.stringContaining('running') });
    expect(listening().control).toBe('\\\\.\\pipe\\d2-sidecar');
    await restCall(portOf(String(listening().listen)), 'rpc/E.Demo/Run', 'anna');
    expect(await countCalls()).toBe(1);
    await expect
      .poll(async () => (await send(portOf(String(listening().monitor)), '/metrics')).body, SLOW)
      .toMatch(/^jvm_memory_used_bytes\{area="heap"\} [1-9]/m);
  });

  it('a stop lets it end, a start continues its counts, and a large log is renamed', SLOW, async () => {
    expect(await host('stop')).toEqual({ code: 0, stdout: '', stderr: '' });
    expect(readLog().at(-1)).toMatchObject({ level: 'info', msg: 'stopped' });
    expect(await host('status')).toEqual({ code: 1, stdout: 'd2-sidecar: stopped\r\n', stderr: '' });
    writeFileSync(inData('d2-sidecar.log'), 'x'.repeat(LOG_BYTES), { flag: 'a' });
    await start();
    expect(await countCalls()).toBe(1);
    expect(statSync(inData('d2-sidecar.log.1')).size).toBeGreaterThan(LOG_BYTES);
    expect(statSync(inData('d2-sidecar.log')).size).toBeLessThan(LOG_BYTES);
  });

  it('an upgrade keeps configuration and state; a wrong configuration is refused first', SLOW, async () => {
    const upgrade = () => type('cmd.exe', '/c', at('d2-sidecar-1.2.3/install.cmd'));
    write(at('d2-sidecar-1.2.3/sidecar.yaml'), 'upstream: {}\n');
    const before = readFileSync(inData('sidecar.yaml'), 'utf8');
    expect(await upgrade()).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(inData('sidecar.yaml'), 'utf8')).toBe(before);
    expect(await countCalls()).toBe(1);
    write(inData('sidecar.yaml'), 'listen: { port: 99999 }\n');
    const refused = await upgrade();
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('NOT installed') });
    expect(refused.stderr).toContain('listen.port: got 99999');
    await expect.poll(async () => (await host('status')).stdout, SLOW).toContain('exit code 64');
    write(inData('sidecar.yaml'), before);
  });

  it('a killed sidecar ends its service with its exit code, so that Windows starts it again', SLOW, async () => {
    await start();
    await type('taskkill.exe', '/f', '/pid', String(readLog()[0]?.pid));
    await expect.poll(async () => (await host('status')).stdout, SLOW).toContain('stopped');
  });

  it('its removal leaves configuration, state and log', SLOW, async () => {
    const removed = await type('cmd.exe', '/c', 'C:\\Program Files\\d2-sidecar\\uninstall.cmd');
    expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining('d2-sidecar is removed') });
    // Wine leaves the folder.
    expect(existsSync(inProgram('d2-sidecar.exe'))).toBe(false);
    expect(readdirSync(inData('')).sort()).toEqual(['d2-sidecar.log', 'd2-sidecar.log.1', 'sidecar.yaml', 'state']);
  });
});
