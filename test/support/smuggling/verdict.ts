/** The rules that one client connection must satisfy, whatever its client sent. */
import type { Config } from '../../../src/config/config.ts';
import { digestOf, EARLY_PATH } from './recording-server.ts';
import { type ResponseSeen, readResponses } from './responses.ts';
import type { Played } from './smuggling-stand.ts';
import { readStrictly, type StrictReading, type StrictRequest } from './strict-reader.ts';

/** Sent after each message: a server that reads it as a request has found the message's end. */
export const MARKER = 'GET /marker HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n';

/** How the sidecar took it: it served the marker, refused something, closed without either, or waited for the client's end. */
export type Outcome = 'served' | 'refused' | 'closed' | 'open';

export interface Verdict {
  readonly faults: readonly string[];
  readonly outcome: Outcome;
  /** Requests that a server read in full, refused itself, or broke off. */
  readonly read: number;
  readonly refusedByServer: number;
}

/** Answers of the sidecar's own that do not concern the request. */
const UPSTREAM_STATUSES: ReadonlySet<number> = new Set([502, 504]);

/** Whether the connection ends when everything has been served; otherwise the client has to close its side. */
export function endsByItself(reading: StrictReading): boolean {
  return reading.end === 'refused' || (reading.end === 'complete' && reading.requests.at(-1)?.target === '/marker');
}

export function judge(sent: StrictReading, played: Played, forwarded: Config['forwarded']): Verdict {
  const faults: string[] = [];
  const fail = (what: string, ...about: unknown[]) =>
    faults.push([what, ...about.map((one) => JSON.stringify(one))].join(' '));
  const passed: StrictRequest[] = [];
  const answered: ResponseSeen[] = [];
  for (const connection of played.upstream) {
    const reading = readStrictly(connection.toServer);
    const isBroken = reading.end === 'refused' || reading.end === 'cut';
    if (isBroken) fail('the upstream got bytes without a strict reading:', connection.toServer);
    const responses = readUpstream(connection.fromServer, reading.requests, fail);
    // A server may answer without waiting for the content, and again when it breaks off: but not from its application.
    const isBrokenOff = (reading.end === 'open' || connection.toServer === '') && responses.at(-1)?.seen === undefined;
    const most = reading.requests.length + (isBrokenOff ? 1 : 0);
    if (responses.length > most) fail('more answers than requests:', connection);
    for (const [i, response] of responses.entries()) compareSeen(response, reading.requests[i], fail);
    passed.push(...reading.requests);
    answered.push(...responses);
  }
  comparePassed(passed, sent, fail);
  if (forwarded === 'replace') checkReplaced(passed, fail);
  compareCounted(played, passed, sent, fail);
  const own = compareAnswers(played, fail);
  if (played.isHung) fail('the connection was left open');
  const isMarkerServed = passed.at(-1)?.target === '/marker' && passed.at(-1)?.body !== undefined;
  const isRefused = own.some((status) => !UPSTREAM_STATUSES.has(status)) || played.received === '';
  return {
    faults,
    outcome: isMarkerServed ? 'served' : !played.isEndedFirst ? 'open' : isRefused ? 'refused' : 'closed',
    read: answered.filter(({ seen }) => seen !== undefined).length,
    refusedByServer: answered.filter(({ seen }) => seen === undefined).length,
  };
}

type Fail = (what: string, ...about: unknown[]) => void;

function readUpstream(text: string, requests: readonly StrictRequest[], fail: Fail): readonly ResponseSeen[] {
  try {
    const methods = requests.map(({ method }) => method);
    return readResponses(text, methods);
  } catch (cause) {
    fail('the server’s bytes are no responses:', String(cause));
    return [];
  }
}

/** The server's own reading, against the strict reading of the bytes that it received. */
function compareSeen({ seen }: ResponseSeen, request: StrictRequest | undefined, fail: Fail): void {
  if (seen === undefined) return;
  const target = toPath(request?.target ?? '');
  const body = target === EARLY_PATH ? '-' : digestOf(Buffer.from(request?.body ?? '', 'latin1'));
  const expected = `${request?.method} ${target} ${body}`;
  const [method, seenTarget = '', seenBody] = seen.split(' ');
  const isOpen = request?.body === undefined && target !== EARLY_PATH;
  const isSame = `${method} ${toPath(seenTarget)} ${seenBody}` === expected;
  if (isOpen || !isSame) fail('the server read', seen, 'where it was sent', isOpen ? 'no whole request' : expected);
}

/** nginx and Tomcat report only the path of an absolute-form target, whatever the scheme. */
function toPath(target: string): string {
  return target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '').replace(/^(?=\?|$)/, '/');
}

/** The upstream received only what the client sent, in order. */
function comparePassed(passed: readonly StrictRequest[], sent: StrictReading, fail: Fail): void {
  for (const [i, request] of passed.entries()) {
    const original = sent.requests[i];
    const isSame =
      original?.method === request.method &&
      original.target === request.target &&
      (request.body === undefined || request.body === original.body);
    if (!isSame) fail('a request that the client did not send:', request, 'for', original);
    if (request.body === undefined && i + 1 < passed.length) fail('a request behind an unfinished one:', passed[i + 1]);
  }
}

const FORWARDED: ReadonlySet<string> = new Set(['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-host']);

function checkReplaced(passed: readonly StrictRequest[], fail: Fail): void {
  for (const { target, fields } of passed) {
    const told = fields.filter(([name]) => FORWARDED.has(name)).map(([name, value]) => `${name}: ${value}`);
    // That of an absolute target overrides Host (RFC 9112 §3.2.2).
    const [, authority] = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/?@]*@)?([^/?]+)/i.exec(target) ?? [];
    const host = authority ?? fields.find(([name]) => name === 'host')?.[1] ?? '';
    const all = ['x-forwarded-for: 127.0.0.1', 'x-forwarded-proto: http', `x-forwarded-host: ${host}`];
    // An HTTP/1.0 request need not have a Host to report; it is given the upstream's.
    if (![all, all.slice(0, 2)].some((lines) => lines.join() === told.join()))
      fail('forwarded fields of the client’s:', told);
    // A next proxy would remove them (RFC 9110 §7.6.1).
    const options = fields.flatMap(([name, value]) => (name === 'connection' ? value.toLowerCase().split(',') : []));
    if (options.some((option) => FORWARDED.has(option.trim()))) fail('Connection names forwarded fields:', options);
  }
}

/** The sidecar counted the requests that it forwarded, and after them those broken off before any byte was forwarded. */
function compareCounted(
  { exchanges }: Played,
  passed: readonly StrictRequest[],
  sent: StrictReading,
  fail: Fail,
): void {
  const isUnsent = exchanges.slice(passed.length).every(({ ending }) => ending !== 'completed');
  if (exchanges.length < passed.length || !isUnsent) fail('counted', exchanges, 'and passed on', passed);
  for (const [i, { method, target, body, status, ending }] of exchanges.entries()) {
    const request = passed[i] ?? sent.requests[i];
    if (request?.method !== method || request.target !== target) fail('counted', { method, target }, 'for', request);
    // An answer ends the measuring of a request body in transit; a server that has not read the body may answer early.
    const isRead = ending === 'completed' && status === 200 && target !== EARLY_PATH;
    const whole = request?.body ?? body;
    if (isRead ? body !== whole : !whole.startsWith(body)) fail('measured', body, 'for', whole);
    if (ending === 'none') fail('an exchange without an end:', { method, target });
  }
}

/** One answer for each completed exchange, in order, and at most one refusal, as the last. Returns the sidecar's own statuses. */
function compareAnswers({ received, exchanges }: Played, fail: Fail): readonly number[] {
  let answers: readonly ResponseSeen[];
  try {
    const methods = exchanges.map(({ method }) => method);
    answers = readResponses(received, methods);
  } catch (cause) {
    fail('the client got', String(cause));
    return [];
  }
  const statuses = answers.filter(({ isOwn }) => !isOwn).map(({ status }) => status);
  const completed = exchanges.filter(({ ending }) => ending === 'completed').map(({ status }) => status);
  if (statuses.join() !== completed.join()) fail('answers', statuses, 'to exchanges', exchanges);
  const own = answers.filter(({ isOwn }) => isOwn).map(({ status }) => status);
  if (own.length > 1) fail('more than one answer of the sidecar’s own:', own);
  if (own.length === 1 && answers.at(-1)?.isOwn !== true) fail('something behind a refusal:', answers);
  return own;
}
