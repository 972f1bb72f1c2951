/**
 * The meaning of each number: what starts and stops its clock, and its window. The only such table. It is shown next
 * to a number on hover or focus (explanations.tsx), and as a list at the end of the page.
 */
export interface Definition {
  readonly term: string;
  readonly text: string;
}

const CLOCK =
  'The clock of a call starts when the head of its request has been read, and stops with the last byte of the answer from the upstream.';
const WINDOW = 'Over the last 5 minutes (metrics.window); a dash without calls in that time. At most 1 % off.';
const STEP =
  'Each point is one step of 5 seconds. The numbers next to the title cover the last minute, as in the figures above; under the cursor, they cover that step.';

export const DEFINITIONS = {
  verdict: {
    term: 'Verdict',
    text: 'The first rule that applies to the numbers of the last minute. It says where to look first, and proves nothing; the rules and their figures are listed under it.',
  },
  'minute.rate': {
    term: 'Calls a second',
    text: 'RPC and SBA calls that the upstream answered in the last minute, divided by its seconds. A held poll is not a call.',
  },
  'minute.p50': {
    term: 'p50, last minute',
    text: `Half of the RPC calls of the last minute were quicker. It is the median of the p50 of its 5-second steps, weighted by their calls. ${CLOCK}`,
  },
  'minute.p95': {
    term: 'p95, last minute',
    text: `95 of 100 RPC calls were quicker, in the slowest 5 seconds of the last minute. ${CLOCK}`,
  },
  'minute.p99': {
    term: 'p99, last minute',
    text: `99 of 100 RPC calls were quicker, in the slowest 5 seconds of the last minute. ${CLOCK}`,
  },
  'minute.errors': {
    term: 'Errors, last minute',
    text: 'RPC and SBA calls of the last minute with status 500 and above, or that the upstream did not answer (refused, reset, timed out), and their share of all that ended. A call whose client left early does not count.',
  },
  'now.sessions': {
    term: 'Sessions',
    text: 'Users and programs that are logged in now. A session begins with the first accepted call or login, and ends with the logout, 30 minutes without a request, or (Comet) 5 minutes after its last connection.',
  },
  'now.holds': {
    term: 'Held polls',
    text: 'Comet polls that the server holds now until it has something to say, of all applications. That is a wait, not work: it is in no duration and no rate of calls.',
  },
  'now.heap': {
    term: 'Heap',
    text: 'Java heap in use at the last reading, including garbage that is not collected yet, and its share of the maximum (-Xmx).',
  },
  'chart.rate': {
    term: 'Calls a second',
    text: `Calls that the upstream answered, whatever the status, divided by the seconds of the step. ${STEP}`,
  },
  'chart.duration': {
    term: 'Duration of calls',
    text: `Durations of the calls that ended in the step: p50, p95 and p99 mean that 50, 95 and 99 of 100 were quicker. ${CLOCK} ${STEP}`,
  },
  'chart.errors': {
    term: 'Errors',
    text: `Calls with status 500 and above or without an answer, for RPC and SBA. Also, for all applications, calls that the client aborted before the answer had ended; these are not errors of the server. ${STEP}`,
  },
  'chart.heap': {
    term: 'Heap',
    text: 'Java heap in use, heap in use after the last collection, and the maximum (-Xmx). If the heap after collections grows for hours, there is a leak; the heap in use goes up and down. A dash if the source lacks the value: hsperfdata has only one of the two (docs/jvm.md).',
  },
  'chart.threads': {
    term: 'Request threads',
    text: 'Threads of the connector that work on a request, and how many there may be. When all are busy, further calls wait.',
  },
  'chart.processors': {
    term: 'Processors of the server',
    text: 'Processors that the process of the server used since the previous reading, and how many it may use.',
  },
  'chart.pauses': {
    term: 'Collector pauses',
    text: 'Time that the garbage collectors took, in milliseconds of each second of the step. While a collection stops the program, all calls wait.',
  },
  'call.name': {
    term: 'Name of a call',
    text: 'Event and method, joined by a dot. A name appears with its first answer below 400 or server error. Names above the limit metrics.maxNames count under (other).',
  },
  'call.count': {
    term: 'Calls',
    text: 'Calls that the upstream answered, whatever the status, since counting began.',
  },
  'call.rate': {
    term: 'Rate',
    text: 'Calls a second: the moving average of a minute, in which recent seconds weigh more.',
  },
  'call.p50': { term: 'p50', text: `Half of the calls were quicker. ${CLOCK} ${WINDOW}` },
  'call.p99': { term: 'p99', text: `99 of 100 calls were quicker. ${CLOCK} ${WINDOW}` },
  'call.errors': {
    term: 'Errors',
    text: 'Calls since counting began with status 500 and above, or that the upstream did not answer, and their share of all that ended.',
  },
  'call.spark': {
    term: 'Last 5 minutes',
    text: 'Calls in each of the last 12 complete periods of 25 seconds, oldest on the left; each line has its own scale. It begins with the start of the sidecar.',
  },
  'timer.window': { term: 'Durations of one call', text: `${CLOCK} ${WINDOW}` },
  'timer.m1': {
    term: 'Moving rates',
    text: 'Calls a second as moving averages of 1, 5 and 15 minutes; the mean rate is over all the time since counting began.',
  },
  'object.name': { term: 'Object', text: 'Name of an object that a client monitors or has read.' },
  'object.subscriptions': {
    term: 'Subscriptions',
    text: 'Monitorings of the object now. Subscribing adds one; unsubscribing, or the end of the session, subtracts it.',
  },
  'object.values': {
    term: 'Values',
    text: 'Values received since counting began: each value that is pushed, and each successful read over REST.',
  },
  'object.rate': { term: 'Values a second', text: 'Received values a second: the moving average of a minute.' },
  'session.user': {
    term: 'User',
    text: 'The user who logged in, from the credentials or the login form. Unknown if the traffic does not show it; unverified while the server may have accepted something else, e.g. a cookie, so that anybody could have stated the name.',
  },
  'session.connection': {
    term: 'Connection',
    text: 'How the session talks to the server: REST, Comet over WebSocket, or Comet by long-polling.',
  },
  'session.since': { term: 'Since', text: 'When the session began: its login, or its first accepted call.' },
  'session.active': { term: 'Last activity', text: 'When its last request was seen, or its last message.' },
  'session.requests': { term: 'Requests', text: 'Requests and calls of the session since it began.' },
  'session.errors': {
    term: 'Errors',
    text: 'Calls of the session that failed since it began, and their share of its requests.',
  },
  'session.timer': {
    term: 'Durations in a session',
    text: `${CLOCK} Of the whole session, not of a window; percentiles are at most 10 % off.`,
  },
  'table.count': {
    term: 'Rows',
    text: 'Rows of the table; with a filter, matching rows and all rows. Names above the limit metrics.maxNames count under (other).',
  },
  'single.name': {
    term: 'Name of a running call',
    text: 'Event and method, joined by a dot, or the name of the object.',
  },
  'single.duration': {
    term: 'Age of a call',
    text: `How long it has run, or took. Highlighted from calls.clientTimeout on, when its user has given up. ${CLOCK}`,
  },
  'single.user': { term: 'User of a call', text: 'The user of its session, if the server has accepted the session.' },
  'single.since': { term: 'Since', text: 'When the head of its request had been read.' },
  'single.outcome': {
    term: 'Outcome',
    text: 'Ok, client error (400 to 499), error (500 and above), unanswered, or aborted by the client; and whether the answer came too late for its user.',
  },
  'path.name': {
    term: 'Path',
    text: 'The first two path segments of requests that are not calls, of all applications. {} replaces a segment that does not look like a name; after 200 paths, all others count under (other).',
  },
  'path.count': { term: 'Requests of a path', text: 'Answered requests since the start.' },
  'path.p95': {
    term: 'p95 of a path',
    text: `95 of 100 requests since the start were quicker, at most 10 % off. ${CLOCK}`,
  },
  'session.address': { term: 'Address', text: 'The address of its client, as the sidecar sees it.' },
} as const satisfies Readonly<Record<string, Definition>>;

export type DefinitionKey = keyof typeof DEFINITIONS;

/** Id of the element with the text, for `aria-describedby`. */
export function toDefinitionId(key: DefinitionKey): string {
  return `def-${key.replace('.', '-')}`;
}
