/** The lines of `d2-sidecar top`. */

import { formatBytes, formatCount, formatDuration } from '../base/figures.ts';
import { sanitizeText } from '../base/shown-text.ts';
import type { CallEntry } from '../measure/record/running-calls.ts';
import type { Live, LiveApplication } from '../page/live-data.ts';
import type { CallsOfApplication, TopDocument } from './control/protocol.ts';

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
