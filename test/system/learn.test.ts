/** `d2-sidecar learn` on a real CometD server with unknown channels, and the effect of its rules once they are filled in. */
import { createServer } from 'node:http';
import { CometD, type Message, type SubscriptionHandle } from 'cometd';
import { adapt } from 'cometd-nodejs-client';
import cometdServer, { type ServerMessage, type ServerSession } from 'cometd-nodejs-server';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { COMET_PATH } from '../support/comet/login-desk.ts';
import { listen } from '../support/comet/plant.ts';
import { Folder } from '../support/monitor/access/access-files.ts';
import { startSidecarProcess } from '../support/sidecar-process.ts';
import { StatisticsReader } from './comet/statistics.ts';
import { type Program, runProgram, startProgram } from './secrets/programs.ts';

adapt();

const FREE = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
const OBJECTS = ['H.Kessel', 'S.Pumpe1', 'D.Ventil', 'H.Ofen'];
const TAGS = ['T.Druck', 'T.Stand', 'T.Fluss'];
const VALUES = 3;
const USER = 'gretel';
const NOWHERE = 'http://127.0.0.1:1/smartWeb';

let folder: Folder;
let cleanUps: (() => unknown)[];
beforeEach(() => {
  folder = new Folder();
  cleanUps = [() => folder.remove()];
});
afterEach(async () => {
  for (const cleanUp of cleanUps.reverse()) await cleanUp();
});

/** A plant whose dialect differs from the built-in rules. */
async function startWerk() {
  const server = cometdServer.createCometDServer({ timeout: 1_000, sweepPeriod: 100 });
  const watching = new Map<string, ServerSession>();
  const serve = (channel: string, handle: (session: ServerSession, message: ServerMessage) => void) => {
    const listener = (session: ServerSession, _: unknown, message: ServerMessage, done: () => void) => {
      handle(session, message);
      done();
    };
    server.createServerChannel(channel).addListener('message', listener);
  };
  serve('/service/werk/ruf', (_, { data, reply }) => {
    if (reply !== undefined) reply.data = data.procedure === 'Fail' ? { error: 'E_FAILED' } : { result: 'geheim' };
  });
  serve('/service/werk/sbaRuf', (session, { data }) => {
    session.deliver(null, '/service/werk/sbaAntwort', { callId: data.callId, rows: [1, 2] });
  });
  serve('/service/werk/beobachte', (session, { data }) => watching.set(data.tag, session));
  serve('/service/werk/lassen', (_, { data }) => watching.delete(data.tag));
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
  const received: unknown[] = [];
  const answered: unknown[] = [];
  const onValue = (message: Message) => void received.push(message);
  const ext = { authentication: { user: USER, credentials: 'geheim' } };
  await done((callback) => client.handshake({ ext }, callback));
  client.addListener('/service/werk/messwert', onValue);
  client.addListener('/service/werk/sbaAntwort', (message) => void answered.push(message));
  const handles: SubscriptionHandle[] = [];
  for (const name of OBJECTS) {
    await done((callback) => handles.push(client.subscribe(`/werk/messung/${name}`, onValue, callback)));
  }
  for (const tag of TAGS) await done((callback) => client.publish('/service/werk/beobachte', { tag }, callback));
  for (let value = 1; value <= VALUES; value += 1) push(value * 4_711);
  await expect.poll(() => received.length, { timeout: 5_000 }).toBe(VALUES * (OBJECTS.length + TAGS.length));
  for (const [n, procedure] of ['Start', 'Stop', 'Start', 'Fail'].entries()) {
    const data = { task: 'E.Kessel', ...(n === 1 ? { iface: 'IMain' } : {}), procedure, parameters: [`geheim${n}`, n] };
    await done((callback) => client.remoteCall('werk/ruf', data, callback));
  }
  for (const callId of ['c-1', 'c-2']) {
    const data = { callId, component: 'Files', method: 'Download' };
    await done((callback) => client.publish('/service/werk/sbaRuf', data, callback));
  }
  await expect.poll(() => answered.length, { timeout: 5_000 }).toBe(2);
  for (const tag of TAGS.slice(1)) await done((callback) => client.publish('/service/werk/lassen', { tag }, callback));
  const [first] = handles;
  if (first !== undefined) await done((callback) => client.unsubscribe(first, callback));
}

async function done(ask: (callback: (message: Message) => void) => unknown): Promise<void> {
  const { successful, error } = await new Promise<Message>((resolve) => ask(resolve));
  if (successful === false) throw new Error(error);
}

function startLearn(...args: readonly string[]): Program {
  const program = startProgram(['learn', ...args, ...FREE], { env: { TMPDIR: folder.path } });
  cleanUps.push(() => program.child.kill('SIGKILL'));
  return program;
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

function fillIn(report: string): string {
  const { comet } = parse(report) as { comet: { rules: { channel: string }[] } };
  const rules = comet.rules.filter(({ channel }) => FILLED_IN[channel] !== null);
  return stringify({ comet: { rules: rules.map((rule) => ({ ...rule, ...FILLED_IN[rule.channel] })) } });
}

/** The exit code of `d2-sidecar check` for these rules. */
async function check(upstream: string, rules: string): Promise<number> {
  const file = folder.write('sidecar.yaml', `upstream: { url: '${upstream}' }\n${rules}`);
  return (await runProgram(['check', '--config', file])).code;
}

it('learn prints rules which, once filled in, make a sidecar count what it did not count before', {
  timeout: 60_000,
}, async () => {
  const werk = await startWerk();
  const learning = startLearn('--upstream', werk.upstream);
  const { child, stdout, stderr, exited } = learning;
  const [line] = await learning.until(/^.*"msg":"listening".*$/m);
  await work(`http://${(JSON.parse(line) as { listen: string }).listen}`, werk.push);
  child.kill('SIGINT');
  await expect.poll(stdout, { timeout: 5_000 }).toContain('rules:');
  // A second client does not wait for the poll that the server holds.
  child.kill('SIGINT');
  expect(await exited).toBe(0);

  expect(stderr()).toMatch(/^d2-sidecar: learning for 5 min from clients that connect to 127\.0\.0\.1:\d+;/m);
  for (const secret of ['geheim', USER, '4711', ...OBJECTS, ...TAGS, 'E.Kessel', 'Download']) {
    expect([secret, stdout().includes(secret), stderr().includes(secret)]).toEqual([secret, false, false]);
  }
  const messung = { channel: '/werk/messung/{name}', kind: 'object', name: '{name}' };
  const open = { when: 'publish', kind: 'FILL_IN', action: 'FILL_IN', name: '{FILL_IN}' };
  expect(parse(stdout())).toEqual({
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
  expect(stdout()).toContain('such as {/task}, {/procedure}');

  expect(await check(werk.upstream, stdout())).toBe(64);
  const filledIn = fillIn(stdout());
  expect(await check(werk.upstream, filledIn)).toBe(0);
  const TMPDIR = folder.path;
  const sidecar = await startSidecarProcess(['--config', `${TMPDIR}/sidecar.yaml`, ...FREE], { TMPDIR });
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
  const { exited, stdout, stderr } = startLearn('--upstream', NOWHERE, '--minutes', '0.01');
  expect(await exited).toBe(0);
  expect(parse(stdout())).toEqual({ comet: { rules: [] } });
  expect(stdout()).toContain('# No channel was used.');
  expect(stderr()).toContain('"reason":"the time to learn is over"');
  expect(stderr()).not.toContain('SIGTERM');
});

it('learn refuses to run when reading of Comet is disabled', { timeout: 30_000 }, async () => {
  const file = folder.write('off.yaml', 'comet: { enabled: false }\n');
  const { exited, stdout, stderr } = startLearn('--upstream', NOWHERE, '--config', file);
  expect(await exited).toBe(64);
  expect(stderr()).toContain('comet.enabled: got false, expected true');
  expect(stdout()).toBe('');
});
