/** `d2-sidecar learn` on a real CometD server with unknown channels, and the effect of its rules once they are filled in. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { CometD, type Message } from 'cometd';
import { adapt } from 'cometd-nodejs-client';
import cometdServer from 'cometd-nodejs-server';
import { afterEach, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { COMET_PATH } from '../support/comet/login-desk.ts';
import { listen } from '../support/comet/plant.ts';
import { deferTo } from '../support/deferred.ts';
import { useFolder } from '../support/export/access-log/folder.ts';
import { runSidecar, startSidecarProcess } from '../support/sidecar-process.ts';
import { StatisticsReader } from './comet/statistics.ts';
import { type Program, startProgram } from './secrets/programs.ts';

adapt();

const FREE = ['--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0'];
const OBJECTS = ['H.Kessel', 'S.Pumpe1', 'D.Ventil', 'H.Ofen'];
const VALUES = 3;
const USER = 'gretel';
const NOWHERE = 'http://127.0.0.1:1/smartWeb';

const defer = deferTo(afterEach);
const at = useFolder();

/** A plant whose dialect differs from the built-in rules: channels of objects, calls, and calls whose answer has a channel. */
async function startWerk() {
  const server = cometdServer.createCometDServer({ timeout: 1_000, sweepPeriod: 100 });
  server.createServerChannel('/service/werk/ruf').addListener('message', (_session, _, { data, reply }, done) => {
    if (reply !== undefined) reply.data = data.procedure === 'Fail' ? { error: 'E_FAILED' } : { result: 'geheim' };
    done();
  });
  server.createServerChannel('/service/werk/sbaRuf').addListener('message', (session, _, { data }, done) => {
    session.deliver(null, '/service/werk/sbaAntwort', { callId: data.callId, rows: [1, 2] });
    done();
  });
  const http = createServer((request, response) => server.handle(request, response));
  const { port, cut } = await listen(http);
  defer(() => {
    server.close();
    return cut();
  });
  const push = (wert: number) => {
    for (const name of OBJECTS) server.getServerChannel(`/werk/messung/${name}`)?.publish(null, { wert });
  };
  return { upstream: `http://127.0.0.1:${port}/smartWeb`, push };
}

/** One user's work: monitors objects, receives values, calls, and stops some of the monitoring. */
async function work(origin: string, push: (value: number) => void): Promise<void> {
  const client = new CometD();
  client.configure({ url: `${origin}${COMET_PATH}`, logLevel: 'warn' });
  client.unregisterTransport('websocket');
  defer(() => new Promise((resolve) => client.disconnect(resolve)));
  const received: Message[] = [];
  const answered: Message[] = [];
  await done((callback) =>
    client.handshake({ ext: { authentication: { user: USER, credentials: 'geheim' } } }, callback),
  );
  client.addListener('/service/werk/sbaAntwort', (message) => void answered.push(message));
  const onValue = (message: Message) => void received.push(message);
  for (const name of OBJECTS) {
    await done((callback) => client.subscribe(`/werk/messung/${name}`, onValue, callback));
  }
  for (let value = 1; value <= VALUES; value += 1) push(value * 4_711);
  await expect.poll(() => received.length, { timeout: 5_000 }).toBe(VALUES * OBJECTS.length);
  for (const [n, procedure] of ['Start', 'Stop', 'Start', 'Fail'].entries()) {
    const data = { task: 'E.Kessel', ...(n === 1 ? { iface: 'IMain' } : {}), procedure, parameters: [`geheim${n}`, n] };
    await done((callback) => client.remoteCall('werk/ruf', data, callback));
  }
  for (const callId of ['c-1', 'c-2']) {
    const data = { callId, component: 'Files', method: 'Download' };
    await done((callback) => client.publish('/service/werk/sbaRuf', data, callback));
  }
  await expect.poll(() => answered.length, { timeout: 5_000 }).toBe(2);
}

async function done(ask: (callback: (message: Message) => void) => unknown): Promise<void> {
  const { successful, error } = await new Promise<Message>((resolve) => ask(resolve));
  if (successful === false) throw new Error(error);
}

function startLearn(...args: readonly string[]): Program {
  const program = startProgram(['learn', ...args, ...FREE], { TMPDIR: at('') });
  defer(() => program.child.kill('SIGKILL'));
  return program;
}

/** The operator's edits, by channel; null deletes the rule. */
const FILLED_IN: Readonly<Record<string, object | null>> = {
  '/service/werk/ruf': { name: '{/task}[.{/iface}].{/procedure}', reply: { error: '/data/error' } },
  // The rule for the calls names it.
  '/service/werk/sbaAntwort': null,
  '/service/werk/sbaRuf': {
    ...{ kind: 'sba', action: 'call', name: '{/component}.{/method}' },
    reply: { channel: '/service/werk/sbaAntwort', id: '/data/callId' },
  },
};

/** The exit code of `d2-sidecar check` for these rules. */
async function check(upstream: string, rules: string): Promise<number> {
  writeFileSync(at('sidecar.yaml'), `upstream: { url: '${upstream}' }\n${rules}`);
  return (await runSidecar(['check', '--config', at('sidecar.yaml')])).code;
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
  for (const secret of ['geheim', USER, '4711', ...OBJECTS, 'E.Kessel', 'Download']) {
    expect([secret, stdout().includes(secret), stderr().includes(secret)]).toEqual([secret, false, false]);
  }
  const messung = { channel: '/werk/messung/{name}', kind: 'object', name: '{name}' };
  const open = { when: 'publish', kind: 'FILL_IN', action: 'FILL_IN', name: '{FILL_IN}' };
  const { comet } = parse(stdout()) as { comet: { rules: { channel: string }[] } };
  expect(comet.rules).toEqual([
    { channel: '/service/werk/ruf', kind: 'rpc', name: '{FILL_IN}' },
    { channel: '/service/werk/sbaAntwort', kind: 'object', action: 'value', name: '{FILL_IN}' },
    { channel: '/service/werk/sbaRuf', ...open },
    { ...messung, action: 'subscribe' },
    { ...messung, action: 'unsubscribe' },
    { ...messung, action: 'value' },
  ]);
  expect(stdout()).toContain('such as {/task}, {/procedure}');

  expect(await check(werk.upstream, stdout())).toBe(64);
  const rules = comet.rules.filter(({ channel }) => FILLED_IN[channel] !== null);
  const filledIn = rules.map((rule) => ({ ...rule, ...FILLED_IN[rule.channel] }));
  expect(await check(werk.upstream, stringify({ comet: { rules: filledIn } }))).toBe(0);
  const sidecar = await startSidecarProcess(['--config', at('sidecar.yaml'), ...FREE], { TMPDIR: at('') });
  defer(() => sidecar.stop('SIGKILL'));
  await work(`http://${sidecar.listen}`, werk.push);
  const each = (count: number) => Object.fromEntries(OBJECTS.map((name) => [name, count]));
  await expect
    .poll(() => new StatisticsReader(sidecar.monitor).statistics())
    .toEqual({
      ...{ subscriptions: each(1), values: each(VALUES) },
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
  expect(stderr()).toContain('"reason":"the learning time has ended"');
  expect(stderr()).not.toContain('SIGTERM');
});

it('learn refuses to run when reading of Comet is disabled', { timeout: 30_000 }, async () => {
  writeFileSync(at('off.yaml'), 'comet: { enabled: false }\n');
  const { exited, stdout, stderr } = startLearn('--upstream', NOWHERE, '--config', at('off.yaml'));
  expect(await exited).toBe(64);
  expect(stderr()).toContain('comet.enabled: got false, expected true');
  expect(stdout()).toBe('');
});
