/** `d2-sidecar demo`: a sample control system, users on it, and the sidecar in front, all in this process, with a JVM beside it. */
import { once, setMaxListeners } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { request } from 'undici';
import { createLogger } from '../base/logger.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { Sidecar } from '../sidecar/sidecar.ts';
import { CometUsers } from './comet-users.ts';
import { SAMPLE_APPLICATION, SampleControlSystem } from './control-system.ts';
import { toGuide } from './guide.ts';
import { type SampleJvm, startSampleJvm } from './jvm.ts';
import { SAMPLE_ACCOUNTS } from './plant.ts';
import { SampleUsers } from './users.ts';

const LISTEN_PORT = 8081;
const MONITOR_PORT = 9280;
/** A line that is rewritten in place may be lively; in a log it would be noise. */
const TTY_PROGRESS_MS = 1_000;
const LOG_PROGRESS_MS = 10_000;
/** Finding the JVM takes milliseconds, and seconds where the machine is busy. */
const JVM_TIMEOUT_S = 10;
const JVM_TRY_EVERY_MS = 100;
/** What other clients than the sample users may take to end: whoever presses Ctrl-C does not want to wait. */
const STOP_DEADLINE = '300ms';

/** Runs until SIGINT or SIGTERM and gives the exit code 0. Rejects with `D2S_ERR_LISTEN` when not even free ports can be had. */
export async function runDemo(): Promise<number> {
  const stopping = new AbortController();
  // Each user and each request under way listens to it.
  setMaxListeners(0, stopping.signal);
  const stop = () => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  // The reader of a pipe has gone (`demo | head`): nobody is looking any more.
  process.stdout.once('error', stop);
  const system = new SampleControlSystem();
  const [upstreamPort, jvm] = await Promise.all([system.start(0), startSampleJvm()]);
  try {
    const sidecar = await Sidecar.create(await createConfig(upstreamPort, jvm), createLogger('warn'));
    try {
      await runUsers(await sidecar.start(), jvm, stopping.signal);
    } finally {
      await sidecar.stop();
    }
  } finally {
    await Promise.all([jvm.kind === 'running' ? jvm.stop() : undefined, system.stop()]);
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
  print('\nEnded.\n');
  return 0;
}

async function runUsers(bound: { listen: string; monitor: string }, jvm: SampleJvm, signal: AbortSignal) {
  const clientUrl = `http://${bound.listen}/${SAMPLE_APPLICATION}`;
  const monitorUrl = `http://${bound.monitor}`;
  const users = new SampleUsers({ baseUrl: clientUrl });
  const browsers = new CometUsers({ baseUrl: clientUrl });
  const working = Promise.all([users.run(signal), browsers.run(signal)]);
  await Promise.race([Promise.all([users.opened, browsers.opened]), working]);
  const noJvm = jvm.kind === 'none' ? jvm.reason : await findWhyUnread(monitorUrl, signal);
  if (!signal.aborted) {
    const sessionId = await findLastingSession(monitorUrl);
    print(toGuide({ clientUrl, monitorUrl, application: SAMPLE_APPLICATION, sessionId, noJvm }));
  }
  const began = performance.now();
  const progress = setInterval(
    () => print(toProgress(users, browsers, performance.now() - began)),
    process.stdout.isTTY ? TTY_PROGRESS_MS : LOG_PROGRESS_MS,
  );
  try {
    await working;
  } finally {
    clearInterval(progress);
  }
}

/** Why the sidecar cannot read the JVM, in its own words; undefined once it can. */
async function findWhyUnread(monitorUrl: string, signal: AbortSignal): Promise<string | undefined> {
  let reason: string | undefined;
  const began = performance.now();
  while (!signal.aborted && performance.now() - began < (JVM_TIMEOUT_S + 1) * 1_000) {
    const answer = await request(`${monitorUrl}/${SAMPLE_APPLICATION}/api/rest/v0/admin/metrics/jvm`);
    const { detail } = (await answer.body.json()) as { detail?: string };
    if (answer.statusCode === 200) return undefined;
    reason = `the sidecar cannot read it: ${detail}`;
    await wait(JVM_TRY_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
  return reason;
}

/** Programs with a key never log out in this demo. */
async function findLastingSession(monitorUrl: string): Promise<string | undefined> {
  const answer = await request(`${monitorUrl}/${SAMPLE_APPLICATION}/api/rest/v0/admin/d2/sessions`);
  const sessions = (await answer.body.json()) as readonly { id: string; userName: string | null }[];
  const lasting = SAMPLE_ACCOUNTS.find((account) => account.kind === 'key');
  return sessions.find((session) => session.userName === lasting?.user)?.id;
}

function toProgress(users: SampleUsers, browsers: CometUsers, elapsedMs: number): string {
  const { answered, byStatus, unanswered } = users.counts;
  const failed = Object.entries(byStatus).reduce(
    (sum, [status, count]) => sum + (Number(status) >= 500 ? count : 0),
    0,
  );
  const refused = byStatus[404] ?? 0;
  const line = `${Math.round(elapsedMs / 1000)} s: ${answered} requests, ${failed} failed, ${refused} not found or refused, ${browsers.values} values pushed`;
  const text = unanswered === 0 ? line : `${line}, ${unanswered} unanswered`;
  return process.stdout.isTTY ? `\r\u001b[K${text}` : `${text}\n`;
}

async function createConfig(upstreamPort: number, jvm: SampleJvm): Promise<Config> {
  const apiKeys = SAMPLE_ACCOUNTS.flatMap((account) => (account.kind === 'key' ? [account] : []));
  // One key stays unknown to the sidecar, so that a session without a user name is to be seen as well.
  const known = apiKeys.slice(0, 1).map(({ user, key }) => ({ user, key }));
  const file = {
    sessions: { apiKeys: known },
    // Its process is named, since the sample control system, which listens on the upstream's port, is no JVM itself.
    jvm: jvm.kind === 'running' ? { pid: jvm.pid, timeout: `${JVM_TIMEOUT_S}s` } : { source: 'none' },
    stop: { deadline: STOP_DEADLINE },
  };
  const { config } = await loadConfig({
    flags: {
      upstream: `http://127.0.0.1:${upstreamPort}/${SAMPLE_APPLICATION}`,
      listen: `127.0.0.1:${await toFreePort(LISTEN_PORT, 'clients')}`,
      monitor: `127.0.0.1:${await toFreePort(MONITOR_PORT, 'monitoring')}`,
      config: 'the configuration of the demo',
    },
    // The demo is the same for everybody, whatever is set for a sidecar in earnest.
    env: {},
    // JSON is YAML as well.
    readFile: () => JSON.stringify(file),
  });
  return config;
}

/** The port itself when nobody has it, else 0, with a line that says so. */
async function toFreePort(port: number, purpose: string): Promise<number> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return port;
  } catch {
    // In use, or not ours to take: either way another one serves the demo as well.
    print(`Port ${port} (${purpose}) is taken: using a free one.\n`);
    return 0;
  }
}

function print(text: string): void {
  process.stdout.write(text);
}
