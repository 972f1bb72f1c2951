/**
 * `d2-sidecar top`: running calls, the slowest calls, and the verdict of the live page, in a terminal. Asks the running
 * sidecar over the control socket every two seconds. `d2-sidecar verdict`: the verdict
 * alone, with the exit codes of monitoring plugins (Nagios, Zabbix).
 */
import { setTimeout as delay } from 'node:timers/promises';
import { SidecarError } from '../base/errors.ts';
import { formatBytes, formatCount, formatDuration } from '../base/figures.ts';
import { sanitizeText } from '../base/shown-text.ts';
import type { Environment } from '../config/environment.ts';
import type { CallEntry } from '../measure/record/running-calls.ts';
import type { Live, LiveApplication } from '../page/live-data.ts';
import { askSidecar } from './ask-sidecar.ts';
import type { FlagsOf, Run } from './command-line.ts';
import { requestTop } from './control/control-client.ts';
import type { CallsOfApplication, TopDocument } from './control/protocol.ts';
import type { Output } from './output.ts';

export interface Terminal {
  readonly stdin: Pick<NodeJS.ReadStream, 'isTTY' | 'setRawMode' | 'on' | 'off' | 'resume' | 'pause'>;
  readonly stdout: Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'rows' | 'on' | 'off'>;
}

const REFRESH_MS = 2_000;
/** Lines of `--once` may have any length: they are for files and other programs. */
const ANY_WIDTH = 10_000;
const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const CLEAR_LINE = '\x1b[K';
const CLEAR_BELOW = '\x1b[J';
const CTRL_C = '\x03';

/**
 * Throws D2S_ERR_CONTROL if no sidecar runs or the sidecar ends. Without a terminal it prints once, as with `isOnce`.
 */
export async function top(
  { flags, isOnce }: FlagsOf<'top'>,
  env: Environment,
  output: Output,
  terminal: Terminal,
): Promise<number> {
  const { socket, first } = await askSidecar(flags, env, output, async (socket) => {
    return { socket, first: await requestTop(socket) };
  });
  if (isOnce || !terminal.stdin.isTTY || !terminal.stdout.isTTY) {
    output.out(`${formatTop(first, ANY_WIDTH).join('\n')}\n`);
    return 0;
  }
  return await show(socket, first, output, terminal);
}

async function show(socket: string, first: TopDocument, output: Output, { stdin, stdout }: Terminal): Promise<number> {
  let shown = first;
  const draw = () => {
    const { columns, rows } = stdout;
    const lines = [...formatTop(shown, columns).slice(0, Math.max(1, rows - 1)), 'q quits'.slice(0, columns)];
    output.out(`${HOME}${lines.map((line) => line + CLEAR_LINE).join('\r\n')}${CLEAR_BELOW}`);
  };
  const quit = new AbortController();
  const onKey = (bytes: Buffer) => {
    if (['q', 'Q', CTRL_C].includes(bytes.toString('latin1'))) quit.abort();
  };
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  stdin.resume();
  stdout.on('resize', draw);
  output.out(ENTER);
  try {
    for (;;) {
      draw();
      await delay(REFRESH_MS, undefined, { signal: quit.signal }).catch(() => undefined);
      if (quit.signal.aborted) return 0;
      shown = await requestTop(socket);
    }
  } catch (cause) {
    if (!(cause instanceof SidecarError)) throw cause;
    throw new SidecarError(cause.code, `${cause.message}; the sidecar has ended, or was replaced`, { cause });
  } finally {
    stdout.off('resize', draw);
    stdin.off('data', onKey);
    stdin.setRawMode(false);
    stdin.pause();
    output.out(LEAVE);
  }
}

const SHOWN_SLOWEST = 10;
/** Leaves room for the slowest calls in a terminal of 24 lines. */
const SHOWN_RUNNING = 12;
const TRANSPORT_NAMES = { REST: 'REST', COMET_WEBSOCKET: 'WebSocket', COMET_LONG_POLLING: 'long polling' } as const;

/** No line is longer than `columns` characters, or has control characters. */
export function formatTop({ live, calls }: TopDocument, columns: number): readonly string[] {
  const lines = [`d2-sidecar ${live.version}, ${live.state}, upstream ${live.upstream.state}, ${live.now}`];
  for (const { section, warning } of live.certificates) {
    if (warning !== null) lines.push(`Certificate of ${section}: ${warning}`);
  }
  for (const application of live.applications) {
    const ownCalls = calls.find(({ name }) => name === application.name);
    lines.push('', ...formatApplication(live, application), '');
    if (ownCalls !== undefined) lines.push(...formatCalls(ownCalls));
  }
  return lines.map((line) => [...sanitizeText(line)].slice(0, columns).join(''));
}

function formatApplication(live: Live, application: LiveApplication): readonly string[] {
  const { history, sessions, heldPolls, verdict, minute } = application;
  const calls = minute.ok + minute.clientErrors + minute.errors + minute.unanswered;
  const failed = minute.errors + minute.unanswered;
  const { REST, COMET_WEBSOCKET, COMET_LONG_POLLING } = sessions;
  const all = REST + COMET_WEBSOCKET + COMET_LONG_POLLING;
  return [
    `${application.name === '' ? '/' : application.name}: ${verdict.text}`,
    `Since        ${verdict.since}`,
    `Last minute  ${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}, ${formatCount(failed)} failed, ${formatCount(minute.late)} too late for their clients, ${formatCount(minute.aborted)} aborted by clients`,
    `Sessions     ${formatCount(all)}: REST ${formatCount(REST)}, WebSocket ${formatCount(COMET_WEBSOCKET)}, long polling ${formatCount(COMET_LONG_POLLING)}; held polls ${formatCount(heldPolls)}`,
    `Server       ${formatServer(live.server)}`,
    `JVM          ${formatJvm(live, history.points.at(-1)?.heapUsed ?? null)}`,
  ];
}

function formatServer(server: Live['server']): string {
  const { 'process.cpu': cores, 'process.memory': memory, processors } = server;
  const ofMax = (value: number, max: number | undefined) =>
    `${formatCount(value)}${max === undefined ? '' : ` of ${formatCount(max)}`}`;
  const parts: string[] = [];
  const add = (value: number | undefined, describe: (known: number) => string) => {
    if (value !== undefined) parts.push(describe(value));
  };
  add(server['threads.busy'], (busy) => `request threads ${ofMax(busy, server['threads.max'])} busy`);
  add(cores, (known) => `${known.toFixed(2)}${processors === undefined ? '' : ` of ${processors}`} cores`);
  add(memory, formatBytes);
  add(server['process.descriptors.open'], (open) => `descriptors ${ofMax(open, server['process.descriptors.max'])}`);
  add(server['jvm.threads.live'], (threads) => `${formatCount(threads)} threads`);
  return parts.length === 0 ? 'capacity unknown' : parts.join(', ');
}

function formatJvm({ jvm }: Live, heapUsed: number | null): string {
  if (jvm.state !== 'available') return jvm.reason ?? jvm.state;
  return `heap ${formatBytes(heapUsed)}${jvm.heapMax === null ? '' : ` of ${formatBytes(jvm.heapMax)}`}, read from ${jvm.source}`;
}

function formatCalls({ total, running, slowest }: CallsOfApplication): readonly string[] {
  const shown = running.slice(0, SHOWN_RUNNING);
  const more = total - shown.length;
  return [
    total === 0
      ? 'No calls are running.'
      : `Running now: ${formatCount(total)}${more > 0 ? ` (oldest ${shown.length} shown)` : ''}`,
    ...shown.map((call) => formatCall(call)),
    '',
    slowest.length === 0 ? 'No call has ended in the last hour.' : 'Slowest of the last hour:',
    ...slowest
      .slice(0, SHOWN_SLOWEST)
      .map((call) =>
        formatCall(call, `${call.outcome}${call.status === null ? '' : ` ${call.status}`}, ended ${call.endTime}`),
      ),
  ];
}

function formatCall({ duration, kind, name, userName, remoteAddress, connectionType }: CallEntry, ending = ''): string {
  const whose = `${userName ?? '(unknown user)'} from ${remoteAddress} over ${TRANSPORT_NAMES[connectionType]}`;
  return `  ${formatDuration(duration).padStart(8)}  ${kind.padEnd(6)}  ${name}  ${whose}${ending === '' ? '' : `  ${ending}`}`;
}

const OK = 0;
const WARNING = 1;
const CRITICAL = 2;
const UNKNOWN = 3;

/**
 * Prints one line for each application and returns the worst exit code: 0 `fine`, `quiet`, `draining`; 1 clients, the
 * network, or slow calls; 2 the server or the sidecar; 3 no sidecar runs, or it does not answer.
 */
export const verdict: Run<'verdict'> = async ({ flags }, env, output) => {
  let document: TopDocument;
  try {
    document = await askSidecar(flags, env, output, requestTop);
  } catch (cause) {
    if (!(cause instanceof SidecarError) || cause.code !== 'D2S_ERR_CONTROL') throw cause;
    output.out(`Unknown: ${cause.message}\n`);
    return UNKNOWN;
  }
  const { applications } = document.live;
  for (const { name, verdict: found } of applications) {
    output.out(`${applications.length === 1 ? '' : `/${name}: `}${found.text}\n`);
  }
  return Math.max(...applications.map(({ verdict: found }) => chooseExitCode(found)));
};

function chooseExitCode({ code, subject }: LiveApplication['verdict']): number {
  if (code === 'fine' || code === 'quiet' || code === 'draining') return OK;
  return code === 'calls-slow' || subject === 'client' || subject === 'network' ? WARNING : CRITICAL;
}
