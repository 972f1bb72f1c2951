import { NS_PER_S } from '../../base/clock.ts';
import type { CallSession, EndedCall } from '../../measure/record/call-observer.ts';

/** Longer names are cut. */
const MAX_NAME_CHARS = 512;
/** Any other method is logged as `(other)`: the client chooses that text, and it may contain a secret. */
const METHODS: ReadonlySet<string> = new Set('GET HEAD POST PUT DELETE PATCH OPTIONS CONNECT TRACE'.split(' '));
const TRACE_ID = /^[0-9a-f]{2}-([0-9a-f]{32})-/;

/**
 * One line of JSON with its line feed, e.g.
 * `{"time":"2026-03-01T08:00:00.123Z","kind":"rpc","name":"E.Demo.TestInOut",...}`; docs/access-log.md has all
 * fields. Unknown values are null. The line has only names from the classifier, values of closed sets, and
 * hexadecimal digits.
 */
export function toAccessLine(call: EndedCall, time: string, hasUsers: boolean): string {
  const { kind, name, application, errorCode, session, requestBytes, responseBytes } = call;
  // Concatenated by hand: JSON.stringify of an object takes twice as long (test/bench/access-log.bench.ts).
  return (
    `{"time":"${time}","kind":"${kind}","name":${toNullable(toShownName(name))},` +
    `"application":${application === undefined ? 'null' : JSON.stringify(application)},` +
    `"over":"${call.isComet ? 'comet' : 'http'}","method":${toMethod(call.method)},"status":${call.status || null},` +
    `"outcome":"${call.outcome}","error":${errorCode === undefined ? 'null' : `"${errorCode}"`},` +
    `"duration":${toSeconds(call.endedNs - call.beganNs)},` +
    `"requestBytes":${requestBytes ?? null},"responseBytes":${responseBytes ?? null},` +
    `"session":${session === undefined ? 'null' : `"${session.id}"`},${hasUsers ? toPersonal(call, session) : ''}` +
    `"trace":${toTraceId(call.ownTraceparent ?? call.traceparent)}}\n`
  );
}

function toPersonal({ remoteAddress }: EndedCall, session: CallSession | undefined): string {
  const user = session?.userName ?? null;
  const verified = session === undefined || user === null ? 'null' : `${session.isVerified}`;
  return `"user":${user === null ? 'null' : JSON.stringify(user)},"verified":${verified},"remoteAddress":${JSON.stringify(remoteAddress)},`;
}

function toNullable(text: string): string {
  return text === '' ? 'null' : JSON.stringify(text);
}

function toShownName(name: string): string {
  return name.length > MAX_NAME_CHARS ? `${name.slice(0, MAX_NAME_CHARS)}…` : name;
}

function toMethod(method: string | undefined): string {
  if (method === undefined) return 'null';
  return METHODS.has(method) ? `"${method}"` : '"(other)"';
}

/** With microseconds, never in the form `1e-7`. */
function toSeconds(durationNs: number): string {
  return (Math.max(0, durationNs) / NS_PER_S).toFixed(6);
}

/** W3C Trace Context §3.2.2. */
function toTraceId(traceparent: string | undefined): string {
  const id = traceparent === undefined ? undefined : TRACE_ID.exec(traceparent)?.[1];
  return id === undefined ? 'null' : `"${id}"`;
}

/** Formats a time as ISO 8601 in UTC with milliseconds. Caches the text of a second, which many calls share. */
export class TimeText {
  #second = Number.NaN;
  /** E.g. `2026-03-01T08:00:00.` */
  #lead = '';

  of(epochMs: number): string {
    const ms = Math.floor(epochMs);
    const second = Math.floor(ms / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#lead = new Date(second * 1_000).toISOString().slice(0, -4);
    }
    return `${this.#lead}${String(ms - second * 1_000).padStart(3, '0')}Z`;
  }
}
