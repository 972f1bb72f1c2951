/** `d2-sidecar learn` on a real CometD server with unknown channels, and the effect of its rules once they are filled in. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CometD, type Message, type SubscriptionHandle } from 'cometd';
import { adapt } from 'cometd-nodejs-client';
import cometdServer, { type ServerMessage, type ServerSession } from 'cometd-nodejs-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { COMET_PATH } from '../support/comet/login-desk.ts';
import { listen } from '../support/comet/plant.ts';
import { exitOf, MAIN_PATH, startSidecarProcess } from '../support/sidecar-process.ts';
import { StatisticsReader } from './comet/statistics.ts';

adapt();

const FREE = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
const OBJECTS = ['H.Kessel', 'S.Pumpe1', 'D.Ventil', 'H.Ofen'];
const TAGS = ['T.Druck', 'T.Stand', 'T.Fluss'];
const VALUES = 3;
const USER = 'gretel';

type Done = () => void;
type Serve = (session: ServerSession, message: ServerMessage, done: Done) => void;

let folder: string;
let cleanUps: (() => unknown)[];
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'd2s-learn-'));
  cleanUps = [];
});
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
  rmSync(folder, { recursive: true });
});

/** A plant whose dialect differs from the built-in rules. */
async function startWerk() {
  const server = cometdServer.createCometDServer({ timeout: 1_000, sweepPeriod: 100 });
  const watching = new Map<string, ServerSession>();
  const serve = (channel: string, handle: Serve) =>
    server
      .createServerChannel(channel)
      .addListener('message', (session: ServerSession, _: unknown, message: ServerMessage, done: Done) =>
        handle(session, message, done),
      );
  serve('/service/werk/ruf', (_session, { data, reply }, done) => {
    if (reply !== undefined) reply.data = data.procedure === 'Fail' ? { error: 'E_FAILED' } : { result: 'geheim' };
    done();
  });
  serve('/service/werk/sbaRuf', (session, { data }, done) => {
    session.deliver(null, '/service/werk/sbaAntwort', { callId: data.callId, rows: [1, 2] });
    done();
  });
  serve('/service/werk/beobachte', (session, { data }, done) => {
    watching.set(data.tag, session);
    done();
  });
  serve('/service/werk/lassen', (_session, { data }, done) => {
    watching.delete(data.tag);
    done();
  });
  const http = createServer((request, response) => server.handle(request, response));
  const { port, cut } = await listen(http);
  cleanUps.push(() => {
    server.close();
    return cut();
  });
  return {
    upstream: `http://127.0.0.1:${port}/smartWeb`,
    push: (value: number) => {
      for (const name of OBJECTS) server.getServerChannel(`/werk/messung/${name}`)?.publish(null, { wert: value });
      for (const [tag, session] of watching) session.deliver(null, '/service/werk/messwert', { tag, wert: value });
    },
  };
}

/** One user's work: monitors by channels and by messages, receives values, calls, and stops some of the monitoring. */
async function work(origin: string, push: (value: number) => void): Promise<void> {
  const client = new CometD();
  client.configure({ url: `${origin}${COMET_PATH}`, logLevel: 'warn' });
  client.unregisterTransport('websocket');
  cleanUps.push(() => new Promise((resolve) => client.disconnect(resolve)));
  let received = 0;
  const onValue = () => {
    received += 1;
  };
  const ext = { authentication: { user: USER, credentials: 'geheim' } };
  await done((callback) => client.handshake({ ext }, callback));
  let answered = 0;
  client.addListener('/service/werk/messwert', onValue);
  client.addListener('/service/werk/sbaAntwort', () => {
    answered += 1;
  });
  const handles: SubscriptionHandle[] = [];
  for (const name of OBJECTS) {
    await done((callback) => handles.push(client.subscribe(`/werk/messung/${name}`, onValue, callback)));
  }
  for (const tag of TAGS) await done((callback) => client.publish('/service/werk/beobachte', { tag }, callback));
  for (let value = 1; value <= VALUES; value += 1) push(value * 4_711);
  await expect.poll(() => received, { timeout: 5_000 }).toBe(VALUES * (OBJECTS.length + TAGS.length));
  for (const [n, procedure] of ['Start', 'Stop', 'Start', 'Fail'].entries()) {
    const data = { task: 'E.Kessel', ...(n === 1 ? { iface: 'IMain' } : {}), procedure, parameters: [`geheim${n}`, n] };
    await done((callback) => client.remoteCall('werk/ruf', data, callback));
  }
  for (const callId of ['c-1', 'c-2']) {
    const data = { callId, component: 'Files', method: 'Download' };
    await done((callback) => client.publish('/service/werk/sbaRuf', data, callback));
  }
  await expect.poll(() => answered, { timeout: 5_000 }).toBe(2);
  for (const tag of TAGS.slice(1)) await done((callback) => client.publish('/service/werk/lassen', { tag }, callback));
  const [first] = handles;
  if (first !== undefined) await done((callback) => client.unsubscribe(first, callback));
}

async function done(ask: (callback: (message: Message) => void) => unknown): Promise<void> {
  const { successful, error } = await new Promise<Message>((resolve) => ask(resolve));
  if (successful === false) throw new Error(error);
}

function runLearn(args: readonly string[]) {
  const child = spawn(process.execPath, [MAIN_PATH, 'learn', ...args], {
    env: { ...process.env, TMPDIR: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
    });
  }
  cleanUps.push(() => child.kill('SIGKILL'));
  return { child, output, exited: exitOf(child) };
}

/** The operator's edits, by channel; null deletes the rule. */
const FILLED_IN: Readonly<Record<string, object | null>> = {
  '/service/werk/beobachte': { kind: 'object', action: 'subscribe', name: '{/tag}' },
  '/service/werk/lassen': { kind: 'object', action: 'unsubscribe', name: '{/tag}' },
  '/service/werk/messwert': { name: '{/tag}' },
  '/service/werk/ruf': { name: '{/task}[.{/iface}].{/procedure}', reply: { error: '/data/error' } },
  // The rule for the calls names it.
  '/service/werk/sbaAntwort': null,
  '/service/werk/sbaRuf': {
    kind: 'sba',
    action: 'call',
    name: '{/component}.{/method}',
    reply: { channel: '/service/werk/sbaAntwort', id: '/data/callId' },
  },
};

function fillIn(report: string, filledIn: Readonly<Record<string, object | null>>): string {
  const { comet } = parse(report) as { comet: { rules: { channel: string }[] } };
  const rules = comet.rules.filter(({ channel }) => filledIn[channel] !== null);
  return stringify({ comet: { rules: rules.map((rule) => ({ ...rule, ...filledIn[rule.channel] })) } });
}

/** The exit code of `d2-sidecar check` for these rules. */
async function check(upstream: string, rules: string): Promise<number | null> {
  writeFileSync(path.join(folder, 'sidecar.yaml'), `upstream: { url: '${upstream}' }\n${rules}`);
  const args = ['check', '--config', path.join(folder, 'sidecar.yaml')];
  return await exitOf(spawn(process.execPath, [MAIN_PATH, ...args], { stdio: 'ignore' }));
}

async function addressOf({ stderr }: { stderr: string }): Promise<string> {
  const line = stderr.split('\n').find((text) => text.includes('"msg":"listening"'));
  expect(line).toBeDefined();
  return `http://${(JSON.parse(line ?? '') as { listen: string }).listen}`;
}

it('learn prints rules which, once filled in, make a sidecar count what it did not count before', {
  timeout: 60_000,
}, async () => {
  const werk = await startWerk();
  const { child, output, exited } = runLearn(['--upstream', werk.upstream, ...FREE]);
  await expect.poll(() => output.stderr, { timeout: 10_000 }).toContain('"msg":"listening"');
  await work(await addressOf(output), werk.push);
  child.kill('SIGINT');
  await expect.poll(() => output.stdout, { timeout: 5_000 }).toContain('rules:');
  // A second client does not wait for the poll that the server holds.
  child.kill('SIGINT');
  expect(await exited).toBe(0);

  const { stdout, stderr } = output;
  expect(stderr).toMatch(/^d2-sidecar: learning for 5 min from clients that connect to 127\.0\.0\.1:\d+;/m);
  for (const secret of ['geheim', USER, '4711', ...OBJECTS, ...TAGS, 'E.Kessel', 'Download']) {
    expect([secret, stdout.includes(secret), stderr.includes(secret)]).toEqual([secret, false, false]);
  }
  const messung = { channel: '/werk/messung/{name}', kind: 'object', name: '{name}' };
  const open = { when: 'publish', kind: 'FILL_IN', action: 'FILL_IN', name: '{FILL_IN}' };
  expect(parse(stdout)).toEqual({
    comet: {
      rules: [
        { channel: '/service/werk/beobachte', ...open },
        { channel: '/service/werk/lassen', ...open },
        { channel: '/service/werk/messwert', kind: 'object', action: 'value', name: '{FILL_IN}' },
        { channel: '/service/werk/ruf', kind: 'rpc', name: '{FILL_IN}' },
        { channel: '/service/werk/sbaAntwort', kind: 'object', action: 'value', name: '{FILL_IN}' },
        { channel: '/service/werk/sbaRuf', ...open },
        { ...messung, action: 'subscribe' },
        { ...messung, action: 'unsubscribe' },
        { ...messung, action: 'value' },
      ],
    },
  });
  expect(stdout).toContain('such as {/task}, {/procedure}');

  expect(await check(werk.upstream, stdout)).toBe(64);
  const filledIn = fillIn(stdout, FILLED_IN);
  expect(await check(werk.upstream, filledIn)).toBe(0);
  const sidecar = await startSidecarProcess(['--config', path.join(folder, 'sidecar.yaml'), ...FREE], {
    TMPDIR: folder,
  });
  cleanUps.push(() => sidecar.stop('SIGKILL'));
  await work(`http://${sidecar.listen}`, werk.push);
  const once = (names: readonly string[], count: number) => Object.fromEntries(names.map((name) => [name, count]));
  await expect
    .poll(async () => (await new StatisticsReader(sidecar.monitor).statistics()).counts)
    .toEqual({
      subscriptions: once([...OBJECTS.slice(1), TAGS[0] ?? ''], 1),
      values: once([...OBJECTS, ...TAGS], VALUES),
      calls: {
        'rpc.E.Kessel.IMain.Stop': { answered: 1, failed: 0 },
        'rpc.E.Kessel.Start': { answered: 2, failed: 0 },
        'rpc.E.Kessel.Fail': { answered: 1, failed: 1 },
        'sba.Files.Download': { answered: 2, failed: 0 },
      },
    });
});

it('learn ends when its time is over, with a document even without any traffic', { timeout: 30_000 }, async () => {
  const { output, exited } = runLearn(['--upstream', 'http://127.0.0.1:1/smartWeb', ...FREE, '--minutes', '0.01']);
  expect(await exited).toBe(0);
  expect(parse(output.stdout)).toEqual({ comet: { rules: [] } });
  expect(output.stdout).toContain('# No channel was used.');
  expect(output.stderr).toContain('"reason":"the time to learn is over"');
  expect(output.stderr).not.toContain('SIGTERM');
});

it('learn refuses to run when reading of Comet is disabled', { timeout: 30_000 }, async () => {
  const file = path.join(folder, 'off.yaml');
  writeFileSync(file, 'comet: { enabled: false }\n');
  const { output, exited } = runLearn(['--upstream', 'http://127.0.0.1:1/smartWeb', ...FREE, '--config', file]);
  expect(await exited).toBe(64);
  expect(output.stderr).toContain('comet.enabled: got false, expected true');
  expect(output.stdout).toBe('');
});
