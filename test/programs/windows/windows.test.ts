/** The program on a Node.js for Windows, in Debian's Wine. docs/windows.md says what Wine cannot show. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { portOf, restCall, send, startApplication } from '../../support/net.ts';
import { flagsFor, runSidecar, type SidecarProcess, startSidecarProcess } from '../../support/sidecar-process.ts';
import { hasWine, startWindows, type Windows } from '../../support/windows/wine.ts';
import { dataPathCases } from '../../system/data-path.cases.ts';
import { Comparison } from '../../system/wire/comparison.ts';
import { CaseRunner } from '../../system/wire/run-case.ts';

const SLOW_MS = 120_000;
const SLOW = { timeout: SLOW_MS };
const CALLS = 400;
const defer = deferTo(afterAll);

describe.runIf(hasWine())('on Windows, in a folder with blanks and Czech letters', () => {
  let windows: Windows;
  let upstreamPort = 0;
  beforeAll(async () => {
    windows = await startWindows(defer);
    const upstream = await startApplication((_, response) => response.end('{"value":1}'), defer);
    upstreamPort = upstream.port;
  }, SLOW_MS);

  const at = (name: string) => path.join(windows.folder, name);
  const command = (...args: readonly string[]) => runSidecar(args, {}, windows.command);
  const call = ({ listen }: SidecarProcess) => restCall(portOf(listen), 'rpc/E.Demo/Run', 'anna');

  /** `stop` kills it. */
  async function start(port = upstreamPort, config: object = {}, env: Record<string, string> = {}) {
    writeFileSync(at('sidecar.yaml'), JSON.stringify({ jvm: { source: 'none' }, ...config }));
    const args = [...flagsFor(port), '--config', at('sidecar.yaml')];
    const sidecar = await startSidecarProcess(args, env, windows.command);
    defer(() => sidecar.stop());
    return sidecar;
  }

  /** By the command, which waits for the end. */
  async function shutDown(sidecar: SidecarProcess): Promise<void> {
    expect(await command('shutdown')).toEqual({ code: 0, stdout: expect.stringContaining('\nstopped\n'), stderr: '' });
    expect(await sidecar.exited).toBe(0);
    expect(sidecar.logs.filter(({ level, msg }) => level !== 'info' && msg !== windows.warning)).toEqual([]);
  }

  it('every wire case passes', SLOW, async () => {
    const comparison = await Comparison.start();
    defer(() => comparison.close());
    const sidecar = await start(comparison.upstream.port);
    // It answers after it has noticed what came before.
    const settle = async () => {
      for (let turn = 0; turn < 3; turn += 1) await send(portOf(sidecar.monitor), '/livez');
    };
    const runner = new CaseRunner(comparison.upstream, undefined, settle);
    // One after the other: some depend on times, which others at once would stretch.
    for (const subject of dataPathCases) await comparison.play(subject, portOf(sidecar.listen), 'fields', runner);
    await sidecar.stop();
  });

  it(`counts ${CALLS} calls exactly, and logs them`, SLOW, async () => {
    const sidecar = await start(upstreamPort, { accessLog: { file: at('přístup.log'), maxBytes: 50_000, keep: 100 } });
    for (let calls = 0; calls < CALLS; calls += 10) await Promise.all(Array.from({ length: 10 }, () => call(sidecar)));
    const { body } = await send(portOf(sidecar.monitor), '/smartWeb/api/rest/v0/admin/metrics/d2/rpc');
    expect((JSON.parse(body) as { timers: { rpc: { count: number } } }).timers.rpc.count).toBe(CALLS);
    await shutDown(sidecar);
    const files = readdirSync(windows.folder).filter((name) => name.startsWith('přístup.log'));
    // The last file is empty if the one before has just been filled.
    const lines = files.flatMap((name) => readFileSync(at(name), 'utf8').match(/.+/g) ?? []);
    expect(files.length).toBeGreaterThan(1);
    expect(lines.map((line) => (JSON.parse(line) as { kind: string }).kind)).toEqual(Array(CALLS).fill('rpc'));
  });

  it('commands reach it over its pipe, with and without --pid', SLOW, async () => {
    const sidecar = await start();
    await call(sidecar);
    const shown = windows.toPosix(String(sidecar.logs.find(({ msg }) => msg === 'listening')?.control));
    const pid = path.basename(shown, '.sock');
    writeFileSync(at('sidecar.yaml'), JSON.stringify({ jvm: { source: 'none' }, stop: { deadline: '7s' } }));
    expect((await command('reload')).stdout).toContain('changed: stop.deadline');
    const wanted: readonly (readonly [code: number, output: RegExp, ...words: string[]])[] = [
      [0, new RegExp(`^d2-sidecar ${pid} is ready: serving\n$`), 'health', '--ready'],
      [0, /^(?:OK|Unknown|.+)\n/, 'verdict'],
      [0, /E\.Demo\.Run/, 'top', '--once'],
      [0, /"platform": "win32"/, 'report'],
      [1, /jvm\.source/, 'threads'],
      [0, /nothing changed/, 'reload'],
      [0, /^d2-sidecar \d+ is draining.*\ndrained\n$/s, 'drain', '--wait', '10s'],
    ];
    for (const [code, output, ...words] of wanted) {
      for (const selection of [[], ['--pid', pid]]) {
        const ran = await command(...words, ...selection);
        expect([words, ran.code, ran.stdout + ran.stderr]).toEqual([words, code, expect.stringMatching(output)]);
      }
    }
    expect(existsSync(shown)).toBe(true);
    await shutDown(sidecar);
    expect(existsSync(shown)).toBe(false);
  });

  it.each([
    // Typed into a console. Nothing sends the others in Wine.
    ['SIGINT', 25_000, (sidecar: SidecarProcess) => sidecar.stop('SIGINT')],
    ['SIGBREAK', 25_000, () => windows.signal('SIGBREAK')],
    ['SIGHUP', 3_000, () => windows.signal('SIGHUP')],
  ] as const)('%s stops it in order, within %i ms, and the running call ends', SLOW, async (...row) => {
    const [reason, deadlineMs, stop] = row;
    const held: ServerResponse[] = [];
    const upstream = await startApplication((_, response) => void held.push(response), defer);
    const sidecar = await start(upstream.port, {}, { D2S_CONSOLE: reason === 'SIGINT' ? '1' : '' });
    const answer = call(sidecar);
    await expect.poll(() => held.length, { timeout: 10_000 }).toBe(1);
    void stop(sidecar);
    const isStopping = () => sidecar.logs.some(({ msg }) => msg === 'stopping');
    await expect.poll(isStopping, { timeout: 10_000 }).toBe(true);
    held[0]?.end('late');
    expect((await answer).body).toBe('late');
    expect(await sidecar.exited).toBe(0);
    expect(sidecar.logs).toContainEqual(expect.objectContaining({ msg: 'stop requested', reason, deadlineMs }));
    expect(sidecar.logs.at(-1)).toMatchObject({ msg: 'stopped', exchanges: 0 });
  });
});
