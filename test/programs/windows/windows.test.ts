/** The program on a Node.js for Windows, in Debian's Wine. docs/windows.md says what Wine cannot show. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { portOf, restCall, send, startApplication } from '../../support/net.ts';
import { flagsFor, runSidecar, type SidecarProcess, startSidecarProcess } from '../../support/sidecar-process.ts';
import { createPhases } from '../../support/tomcat/calls.ts';
import { sendAtOnce, sendInOrder } from '../../support/tomcat/clients.ts';
import { hasTomcat, startTomcat } from '../../support/tomcat/tomcat.ts';
import { hasWine, startWindows, type Windows } from '../../support/windows/wine.ts';
import { dataPathCases } from '../../system/data-path.cases.ts';
import { Comparison } from '../../system/wire/comparison.ts';
import { CaseRunner } from '../../system/wire/run-case.ts';
import { below, ExpectedCounts, type MetricsAnswer, toCounts } from '../tomcat/expected-counts.ts';

const SLOW_MS = 120_000;
const SLOW = { timeout: SLOW_MS };
const REST = '/smartWeb/api/rest/v0/';
const CALLS = 1_000;
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

  async function countsOf({ monitor }: SidecarProcess) {
    return toCounts(JSON.parse((await send(portOf(monitor), `${REST}admin/metrics/d2`)).body) as MetricsAnswer);
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

  it.runIf(hasTomcat())(`counts ${CALLS} calls of five users before Tomcat exactly, and logs them`, SLOW, async () => {
    const accessLog = { file: at('přístup.log'), maxBytes: 50_000, keep: 100 };
    const apiKeys = [{ user: 'dana', key: 'key-of-dana' }];
    const sidecar = await start((await startTomcat(defer)).port, { sessions: { apiKeys }, accessLog });
    const { beginning, crowd, steady, ending } = createPhases(CALLS, 10);
    const expected = new ExpectedCounts();
    const base = `http://${sidecar.listen}${REST}`;
    for (const phase of [beginning, crowd, steady, ending]) {
      const answered = await (phase === crowd ? sendAtOnce(base, phase) : sendInOrder(base, phase));
      for (const one of answered) expected.add(one);
    }
    const counts = await countsOf(sidecar);
    expect(counts).toEqual(below(expected.global, 'sessions', 'rpc', 'sba', 'object'));
    await shutDown(sidecar);
    const files = readdirSync(windows.folder).filter((name) => name.startsWith('přístup.log'));
    // The last file is empty if the one before has just been filled.
    const lines = files.flatMap((name) => readFileSync(at(name), 'utf8').match(/.+/g) ?? []);
    const kinds = lines.map((line) => (JSON.parse(line) as { kind: string }).kind);
    expect(files.length).toBeGreaterThan(3);
    for (const kind of ['rpc', 'sba']) expect(kinds.filter((one) => one === kind)).toHaveLength(counts[kind] ?? -1);
  });

  it('commands reach it over its pipe, with and without --pid', SLOW, async () => {
    const sidecar = await start();
    await call(sidecar);
    const shown = windows.toPosix(String(sidecar.logs.find(({ msg }) => msg === 'listening')?.control));
    const pid = path.basename(shown, '.sock');
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
        expect([...words, ...selection, ran.code, ran.stdout + ran.stderr]).toEqual([
          ...[...words, ...selection, code],
          expect.stringMatching(output),
        ]);
      }
    }
    expect(existsSync(shown)).toBe(true);
    await shutDown(sidecar);
    expect(existsSync(shown)).toBe(false);
  });

  it('a killed one is not found any more, and its file is removed', SLOW, async () => {
    const sidecar = await start();
    const shown = windows.toPosix(String(sidecar.logs.find(({ msg }) => msg === 'listening')?.control));
    await sidecar.stop();
    expect(existsSync(shown)).toBe(true);
    expect(await command('health')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no running sidecar found'),
    });
    expect(existsSync(shown)).toBe(false);
  });

  it('a reload applies what has changed; one with a mistake changes nothing and names it', SLOW, async () => {
    const sidecar = await start();
    writeFileSync(at('sidecar.yaml'), JSON.stringify({ jvm: { source: 'none' }, stop: { deadline: '7s' } }));
    expect((await command('reload')).stdout).toContain('changed: stop.deadline');
    writeFileSync(at('sidecar.yaml'), JSON.stringify({ stop: { deadline: 'soon' } }));
    expect(await command('reload')).toMatchObject({ code: 64, stderr: expect.stringContaining('stop.deadline') });
    expect((await call(sidecar)).status).toBe(200);
    await sidecar.stop();
  });

  it.each([
    // Typed into a console. Nothing sends the others in Wine.
    ['SIGINT', 25_000, (sidecar: SidecarProcess) => sidecar.stop('SIGINT')],
    ['SIGBREAK', 25_000, () => windows.signal('SIGBREAK')],
    ['SIGHUP', 3_000, () => windows.signal('SIGHUP')],
  ] as const)(
    '%s stops it in order, within %i ms, and the running call ends',
    SLOW,
    async (reason, deadlineMs, stop) => {
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
    },
  );

  it('counts and sessions outlive a restart', SLOW, async () => {
    // Commands find the pipe of a service without being told.
    const config = { state: { file: at('stav') }, control: { socket: '\\\\.\\pipe\\d2-sidecar' } };
    const first = await start(upstreamPort, config);
    for (let calls = 0; calls < 3; calls += 1) await call(first);
    await shutDown(first);
    const second = await start(upstreamPort, config);
    await call(second);
    expect(await countsOf(second)).toMatchObject({ 'rpc.E.Demo.Run': 4, 'sessions.created': 1, 'sessions.active': 1 });
    await shutDown(second);
  });

  it.each([
    ['a mistake', 64, 'stop: { deadline: soon }', 'stop.deadline: got "soon"'],
    [
      'an unusable file',
      1,
      'listen: { tls: { certFile: "C:\\\\none.pem", keyFile: "C:\\\\none.key" } }',
      'C:\\none.pem',
    ],
  ])('%s in the configuration ends the start with a message, and `check` says the same', SLOW, async (...row) => {
    const [, code, text, message] = row;
    writeFileSync(at('wrong.yaml'), text);
    for (const words of [[], ['check']]) {
      const ran = await command(...words, ...flagsFor(1), '--config', at('wrong.yaml'));
      expect(ran).toMatchObject({ code, stderr: expect.stringContaining(message) });
    }
  });
});
