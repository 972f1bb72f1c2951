/**
 * The meaning of each number and field, once: the live page shows these sentences (explanations.tsx), /openapi.json
 * describes fields with them, and `npm run generate` writes the tables of docs/statistics.md. Runs anywhere.
 *
 * Texts are Markdown with code and links; `toPlainText` makes plain text of them.
 */

/** Of an element of `d2/sessions`. */
export const SESSION_FIELDS = {
  id: 'Random, never a cookie, key or credential; with `state.file` it survives restarts.',
  createTime: "When the call that began it had been answered, by the machine's clock.",
  userName:
    'The name in the credentials, the form or the handshake; `null` without one. The first name stays; a proven one replaces a claimed one.',
  connectionType: '`REST`, `COMET_WEBSOCKET` or `COMET_LONG_POLLING`, now.',
  lastActivityTime:
    'The last beginning or end of a call, or action of the user over Comet (no pushed values, no `/meta/connect`). `sessions.idle` counts from here, but not while a call runs.',
  remoteAddress: "The [client's address](front-proxies.md) of the call that began it.",
  requests: 'Calls of any kind that have ended. A Comet login or handshake is no call.',
  verified: '`false` while nothing has proven the credential or the name ([below](#whose-name-it-is)), else absent.',
} as const;

/** Of an element of `d2/calls` and `d2/calls/slowest`. */
export const CALL_FIELDS = {
  kind: '`rpc`, `sba`, `object` or `session`.',
  name: 'The call, also before its first answer. Names of ended calls are cut at 256 characters.',
  sessionId: 'Its session; `null` until the server has accepted its login.',
  userName: 'The user of its session, if the server has accepted the session; else `null`.',
  connectionType: 'As in the session list.',
  remoteAddress: "The [client's address](front-proxies.md) of this call.",
  startTime: 'When the head of its request had been read.',
  duration: 'Seconds until now or its end, without the client wait.',
  threadDump: 'The file of an automatic [thread dump](troubleshooting.md#thread-dumps), else absent.',
  endTime: 'When it ended.',
  status: 'Of the answer; `null` without one.',
  outcome:
    '`ok`, `client_error` (400 to 499), `error` (500 and above), `unanswered` (no whole answer), or `aborted` (the client left).',
  clientWait: 'Seconds in which nothing but the client held it up; no part of the duration.',
  firstByte: 'Seconds from the head to the first byte of the answer; `null` without one.',
} as const;

/** What several definitions have in common: for the page in full, for the documentation in short. */
export const NOTES = {
  clock: {
    text: 'The clock of a call starts when the head of its request has been read, and stops with the last byte of the answer from the upstream.',
    short: '',
  },
  window: {
    text: 'Over the last 5 minutes (metrics.window); a dash without calls in that time. At most 1 % off.',
    short: 'Over `metrics.window`.',
  },
  step: {
    text: 'Each point is one step of 5 seconds. The numbers next to the title cover the last minute; under the cursor, they cover that step.',
    short: 'Of a step.',
  },
} as const;

export interface Definition {
  readonly term: string;
  readonly text: string;
  readonly notes?: readonly (keyof typeof NOTES)[];
}

/** The numbers of the live page, by `<place>.<number>`. */
export const DEFINITIONS = {
  verdict: {
    term: 'Verdict',
    text: 'The first rule that applies to the last minute. A hint, no proof. Its figures are of calls of all kinds, those below of RPC and SBA calls.',
  },
  usual: { term: 'Usual', text: "The median of the hour's minutes; up or down by more than a fifth." },
  'minute.rate': {
    term: 'Calls a second',
    text: 'Answered RPC and SBA calls, divided by the seconds of the last minute. A held poll is no call.',
  },
  'minute.p50': {
    term: 'p50, last minute',
    text: 'Half of the RPC calls were quicker: the median p50 of the 5-second steps, weighted by calls.',
    notes: ['clock'],
  },
  'minute.p95': {
    term: 'p95, last minute',
    text: '95 of 100 RPC calls were quicker, in the slowest step of 5 seconds.',
    notes: ['clock'],
  },
  'minute.p99': {
    term: 'p99, last minute',
    text: '99 of 100 RPC calls were quicker, in the slowest step of 5 seconds.',
    notes: ['clock'],
  },
  'minute.errors': {
    term: 'Errors, last minute',
    text: 'RPC and SBA calls with status 500 and above, or without an answer (refused, reset, timed out), and their share of all that ended.',
  },
  'now.sessions': {
    term: 'Sessions',
    text: 'Users and programs that are logged in: from the first accepted call or login to the logout, 30 minutes without a request, or (Comet) 5 minutes without a connection.',
  },
  'now.holds': {
    term: 'Held polls',
    text: 'Comet polls that the server holds now, of all applications. They are in no duration and no rate of calls.',
  },
  'now.heap': {
    term: 'Heap',
    text: 'Java heap in use at the last reading, with garbage, and its share of the maximum (-Xmx).',
  },
  'chart.rate': {
    term: 'Calls a second',
    text: 'Answered calls, whatever the status, divided by the seconds of the step.',
    notes: ['step'],
  },
  'chart.duration': {
    term: 'Duration of calls',
    text: '50, 95 and 99 of 100 calls of the step were quicker than p50, p95 and p99.',
    notes: ['clock', 'step'],
  },
  'chart.times': {
    term: 'Time of a call',
    text: 'Mean of all ended calls: at the server, and on top the client wait.',
    notes: ['step'],
  },
  'chart.errors': {
    term: 'Errors',
    text: 'Failed calls (status 500 and above, or no answer), and calls of all applications whose client left.',
    notes: ['step'],
  },
  'chart.heap': {
    term: 'Heap',
    text: 'In use, in use after the last collection, and the maximum (-Xmx). If the second grows for hours, there is a leak. A dash if the source lacks it ([jvm.md](jvm.md)).',
  },
  'chart.threads': {
    term: 'Request threads',
    text: 'Busy threads of the connector, and how many there may be. When all are busy, further calls wait.',
  },
  'chart.processors': {
    term: 'Processors of the server',
    text: 'Processors that the server used since the previous reading, and how many it may use.',
  },
  'chart.pauses': {
    term: 'Collector pauses',
    text: 'Time of collections, without concurrent ones, in milliseconds of each second. Meanwhile all calls wait.',
    notes: ['step'],
  },
  'call.name': {
    term: 'Name of a call',
    text: 'Event and method, joined by a dot. Names beyond `metrics.maxNames` count under (other).',
  },
  'call.count': { term: 'Calls', text: 'Answered calls, whatever the status, since counting began.' },
  'call.rate': { term: 'Rate', text: 'Calls a second: the moving average of a minute.' },
  'call.p50': { term: 'p50', text: 'Half of the calls were quicker.', notes: ['clock', 'window'] },
  'call.p99': { term: 'p99', text: '99 of 100 calls were quicker.', notes: ['clock', 'window'] },
  'call.errors': {
    term: 'Errors',
    text: 'Calls with status 500 and above, or without an answer, since counting began, and their share of all that ended.',
  },
  'call.spark': {
    term: 'Last 5 minutes',
    text: 'Calls in each of the last 12 periods of 25 seconds; each line has its own scale.',
  },
  'call.status': {
    term: 'Calls by status',
    text: 'Those with a status of 400 and above, refused over Comet, or not answered, since counting began.',
  },
  'call.failing': {
    term: 'Errors since, last error',
    text: 'The beginning of the first minute since which every minute with calls had errors, within the hour; or of the last minute with one.',
  },
  'item.calls': {
    term: 'Calls a minute',
    text: 'Calls that ended in each minute, the errors among them, and those after `calls.clientTimeout`. The last minute still runs.',
  },
  'item.duration': {
    term: 'Durations by minute',
    text: 'Of the answered calls of each minute.',
    notes: ['clock'],
  },
  'item.heat': {
    term: 'How many took how long',
    text: 'A column is a minute, a row a range of durations; the darker, the more calls.',
    notes: ['clock'],
  },
  'item.values': { term: 'Values a minute', text: 'Received in each minute.' },
  'past.calls': {
    term: 'Calls a minute, on disk',
    text: 'Answered calls of each step of the history, divided by its minutes. A gap: nothing was measured.',
  },
  'past.duration': {
    term: 'Durations, on disk',
    text: 'Of all calls of each step, or of the whole range in the table; within 1 %.',
    notes: ['clock'],
  },
  'past.errors': { term: 'Errors, on disk', text: 'Failed calls of each step, or of the whole range in the table.' },
  'past.sessions': { term: 'Sessions, on disk', text: 'The most at a time in each step.' },
  'past.name': { term: 'Name in the history', text: 'Kind and name, as in the metrics.' },
  'past.count': { term: 'Calls in the range', text: 'Answered calls in the whole range.' },
  'past.before': { term: 'Before', text: 'The same in the other time.' },
  'past.change': {
    term: 'Change',
    text: 'The median or p95, divided by the one before; the greater of the two. Marked from a fifth on.',
  },
  'past.slower': {
    term: 'Slower since a mark',
    text: 'Names whose median or p95 since then, at most a day, is a fifth or more above its greatest value in as long a time right before, and at this time of the last seven days; each with 20 calls or more.',
  },
  'caller.calls': { term: 'Calls of a caller', text: 'Answered calls of this name in the session.' },
  'caller.share': { term: 'Share', text: 'Of all calls in this table.' },
  'caller.errors': { term: 'Errors of a caller', text: 'Failed calls of this name, and their share.' },
  'timer.window': { term: 'Durations of one call', text: 'Of the calls of this name.', notes: ['clock', 'window'] },
  'timer.m1': {
    term: 'Moving rates',
    text: 'Calls a second: moving averages of 1, 5 and 15 minutes, and the mean since counting began.',
  },
  'object.name': { term: 'Object', text: 'An object that a client monitors or has read.' },
  'object.subscriptions': {
    term: 'Subscriptions',
    text: 'Monitorings now. Subscribing adds one; unsubscribing, or the end of the session, subtracts it.',
  },
  'object.values': {
    term: 'Values',
    text: 'Values since counting began: each pushed one, and each successful read over REST.',
  },
  'object.rate': { term: 'Values a second', text: 'Values a second: the moving average of a minute.' },
  'session.user': {
    term: 'User',
    text: `${SESSION_FIELDS.userName} Unverified: nothing has proven it, so that anybody could have stated it.`,
  },
  'session.connection': { term: 'Connection', text: 'REST, Comet over WebSocket, or Comet by long-polling.' },
  'session.since': { term: 'Since', text: SESSION_FIELDS.createTime },
  'session.active': { term: 'Last activity', text: SESSION_FIELDS.lastActivityTime },
  'session.requests': { term: 'Requests', text: SESSION_FIELDS.requests },
  'session.errors': { term: 'Errors', text: 'Failed calls since it began, and their share of its requests.' },
  'session.timer': {
    term: 'Durations in a session',
    text: 'Of the whole session; percentiles are at most 10 % off.',
    notes: ['clock'],
  },
  'session.address': { term: 'Address', text: "The [client's address](front-proxies.md), as the sidecar sees it." },
  'table.count': { term: 'Rows', text: 'Rows of the table; with a filter, matching rows of all rows.' },
  'single.name': {
    term: 'Name of a running call',
    text: 'Event and method, joined by a dot, or the name of the object.',
  },
  'single.duration': {
    term: 'Age of a call',
    text: `${CALL_FIELDS.duration} Highlighted from \`calls.clientTimeout\` on, when its user has given up.`,
    notes: ['clock'],
  },
  'single.wait': { term: 'Client wait', text: CALL_FIELDS.clientWait },
  'single.user': { term: 'User of a call', text: CALL_FIELDS.userName },
  'single.since': { term: 'Since', text: CALL_FIELDS.startTime },
  'single.outcome': {
    term: 'Outcome',
    text: `${CALL_FIELDS.outcome} And whether the answer came too late for its user.`,
  },
  'target.name': { term: 'Target', text: 'The call of a target (calls.targets); `*` stands for any rest of the name.' },
  'target.within': {
    term: 'Within',
    text: 'A call meets its target if it is answered below 400 within this time, client wait left out. Aborted calls do not count.',
  },
  'target.share': { term: 'Wanted', text: 'Share of the calls that should meet the target.' },
  'target.minute': { term: 'Target, last minute', text: 'Share of the calls of the last minute that met the target.' },
  'target.month': {
    term: 'Target, this month',
    text: 'Share of the calls since the first of the month (UTC) that met it.',
  },
  'target.used': {
    term: 'Allowance used',
    text: 'Missed calls of this month, compared with how many of its calls so far may miss the target. At 100 % none is left; above it, the target is missed unless enough calls follow that meet it.',
  },
  'target.state': { term: 'State', text: 'Whether the calls of this month so far meet the wanted share.' },
  'target.hour': {
    term: 'Target, last hour',
    text: 'Share of the calls of each minute that met the target. The straight line is the wanted share.',
  },
  'path.name': {
    term: 'Path',
    text: 'Of requests that are not calls: eight segments below an application, else two. {} replaces a segment that is no name; after 200 paths, others count under (other).',
  },
  'path.count': { term: 'Requests of a path', text: 'Answered requests since the start.' },
  'path.p95': {
    term: 'p95 of a path',
    text: '95 of 100 requests since the start were quicker, at most 10 % off.',
    notes: ['clock'],
  },
} as const satisfies Readonly<Record<string, Definition>>;

export type DefinitionKey = keyof typeof DEFINITIONS;

/** Without the marks of code and the targets of links. */
export function toPlainText(markdown: string): string {
  return markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '');
}
