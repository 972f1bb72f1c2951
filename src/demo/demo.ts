/**
 * `d2-sidecar demo`: a sample control system, its users, and the sidecar in front, all in this process, plus a
 * JVM. The folder demo/ builds on a complete sidecar; the sidecar knows nothing of it.
 */
import { once, setMaxListeners } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { request } from 'undici';
import { createLogger } from '../base/logger.ts';
import { showProgress } from '../base/progress.ts';
import type { Config } from '../config/config.ts';
import { loadConfig } from '../config/load-config.ts';
import { Sidecar } from '../sidecar/sidecar.ts';
import { CometUsers } from './comet-users.ts';
import { SAMPLE_APPLICATION, SampleControlSystem } from './control-system.ts';
import { type SampleJvm, startSampleJvm } from './jvm.ts';
import { SAMPLE_ACCOUNTS, SAMPLE_BROWSERS } from './plant.ts';
import { SampleUsers } from './users.ts';

const LISTEN_PORT = 8081;
const MONITOR_PORT = 9280;
/** A line that is rewritten in place may change often; a log should stay short. */
const TTY_PROGRESS_MS = 1_000;
const LOG_PROGRESS_MS = 10_000;
/** The sidecar finds the JVM in milliseconds, on a busy machine in seconds. */
const JVM_TIMEOUT_S = 10;
const JVM_TRY_EVERY_MS = 100;
/** How long clients other than the sample users may take to finish. Ctrl-C should end the demo at once. */
const STOP_DEADLINE = '300ms';

/** Runs until SIGINT or SIGTERM; resolves to exit code 0. Rejects with `D2S_ERR_LISTEN` if not even free ports work. */
export async function runDemo(): Promise<number> {
  const stopping = new AbortController();
  // Each user and each request in progress adds a listener.
  setMaxListeners(0, stopping.signal);
  const stop = () => stopping.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  // The reader of the pipe has gone (`demo | head`), so nobody is watching.
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
  const browsing = browsers.run(signal);
  const opened = Promise.all([users.open(signal), Promise.race([browsers.opened, browsing])]);
  await showProgress(print, 'waiting for the first calls', opened);
  const working = Promise.all([users.run(signal), browsing]);
  const read = jvm.kind === 'none' ? Promise.resolve(jvm.reason) : findWhyUnread(monitorUrl, signal);
  const noJvm = await showProgress(print, 'waiting for the JVM', read);
  if (!signal.aborted) {
    const sessionId = await findLastingSession(monitorUrl);
    print(formatGuide(clientUrl, monitorUrl, sessionId, noJvm));
  }
  const began = performance.now();
  const progress = setInterval(
    () => print(formatProgress(users, browsers, performance.now() - began)),
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

/** The session of a program with a key: those never log out in this demo. */
async function findLastingSession(monitorUrl: string): Promise<string | undefined> {
  const answer = await request(`${monitorUrl}/${SAMPLE_APPLICATION}/api/rest/v0/admin/d2/sessions`);
  const sessions = (await answer.body.json()) as readonly { id: string; userName: string | null }[];
  const lasting = SAMPLE_ACCOUNTS.find((account) => account.kind === 'key');
  return sessions.find((session) => session.userName === lasting?.user)?.id;
}

function formatProgress(users: SampleUsers, browsers: CometUsers, elapsedMs: number): string {
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
  // One key is unknown to the sidecar, so that the demo also shows a session without a user name.
  const known = apiKeys.slice(0, 1).map(({ user, key }) => ({ user, key }));
  const file = {
    sessions: { apiKeys: known },
    // The JVM is named by its pid, because the process on the upstream's port, the sample control system, is not a JVM.
    jvm: jvm.kind === 'running' ? { pid: jvm.pid, timeout: `${JVM_TIMEOUT_S}s` } : { source: 'none' },
    stop: { deadline: STOP_DEADLINE },
  };
  const { config } = await loadConfig({
    flags: {
      upstream: `http://127.0.0.1:${upstreamPort}/${SAMPLE_APPLICATION}`,
      listen: `127.0.0.1:${await chooseFreePort(LISTEN_PORT, 'clients')}`,
      monitor: `127.0.0.1:${await chooseFreePort(MONITOR_PORT, 'monitoring')}`,
      config: 'the configuration of the demo',
    },
    // The demo ignores the environment, which may be meant for a real sidecar.
    env: {},
    readFile: () => JSON.stringify(file),
  });
  return config;
}

/** The port itself if it is free; otherwise 0, with a message. */
async function chooseFreePort(port: number, purpose: string): Promise<number> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return port;
  } catch {
    // The port is in use or not allowed; the demo works with any other.
    print(`Port ${port} (${purpose}) is taken: using a free one.\n`);
    return 0;
  }
}

function print(text: string): void {
  process.stdout.write(text);
}

/** Paths below `.../api/rest/v0/admin/`. */
const LINKS = [
  { title: 'Who is connected', path: 'd2/sessions' },
  { title: 'All statistics', path: 'metrics/d2' },
  { title: 'Sessions created and active', path: 'metrics/d2/sessions' },
  { title: 'RPC calls, all and each', path: 'metrics/d2/rpc' },
  { title: 'One RPC', path: 'metrics/d2/rpc/E.Boiler.ReadState' },
  { title: 'SBA calls (binary content), all and each', path: 'metrics/d2/sba' },
  { title: 'One SBA call', path: 'metrics/d2/rpc/E.Files.Download' },
  { title: 'Objects, all and each', path: 'metrics/d2/object' },
  { title: 'One object', path: 'metrics/d2/object/H.Boiler.Temperature' },
];

const JVM_LINK = { title: 'The Java virtual machine', path: 'metrics/jvm' };

/**
 * The text that the demo prints: where to look, and what to type. Without `sessionId`, that of a lasting session, it has
 * no lines about one session. `noJvm`: why no JVM is shown, e.g. `no java was found`; undefined if one is read.
 */
function formatGuide(clientUrl: string, monitorUrl: string, sessionId?: string, noJvm?: string): string {
  const admin = `${monitorUrl}/${SAMPLE_APPLICATION}/api/rest/v0/admin/`;
  const lines = [
    `A sample control system, ${SAMPLE_ACCOUNTS.length} users of its REST interface and ${SAMPLE_BROWSERS.length} browsers (WebSocket and long-polling) on it,`,
    'and d2-sidecar in front. Ctrl-C ends all of it.',
    '',
    `  The live page is     ${monitorUrl}/`,
    `  The users call       ${clientUrl}`,
    `  The statistics are   ${admin}...`,
    '',
  ];
  if (noJvm !== undefined)
    lines.push(
      `No JVM is shown: ${noJvm.replace(/\.$/, '')}.`,
      'Where java is installed, the demo starts a small JVM, the page shows its heap and its collector pauses,',
      `and ${admin}metrics/jvm answers.`,
      '',
    );
  const sights = noJvm === undefined ? [...LINKS, JVM_LINK] : LINKS;
  for (const sight of sights) lines.push(...formatLink(sight.title, admin + sight.path, '?'));
  if (sessionId !== undefined) {
    lines.push(...formatLink('The same statistics for one session', `${admin}metrics/d2?session=${sessionId}`, '&'));
  }
  lines.push('Health of the sidecar', `  curl -i '${monitorUrl}/readyz'`, '');
  const call = `${clientUrl}/api/rest/v0/d2/rpc/E.Boiler/ReadState`;
  lines.push('A call of your own, which then shows in all of the above');
  lines.push(`  curl -u anna:anna -H 'Content-Type: application/json' -d '[1]' '${call}'`, '');
  return `${lines.join('\n')}\n`;
}

function formatLink(title: string, address: string, separator: '?' | '&'): string[] {
  return [title, `  ${address}`, `  curl '${address}${separator}pretty=true'`, ''];
}
