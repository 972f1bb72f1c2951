import { expect } from 'vitest';
import { turns } from '../../../support/wire/split-writer.ts';
import { untilStill } from '../../../support/wire/still.ts';
import type { CaseEnd } from '../case-end.ts';
import {
  answering,
  answeringPostsEarly,
  MEBIBYTE,
  NOISE,
  OK,
  request,
  requestWith,
  response,
  responseWith,
} from '../compose.ts';
import type { ClientScript, DataPathCase } from '../run-case.ts';
import {
  bodyCame,
  contentCame,
  finals,
  finish,
  heads,
  note,
  noted,
  requestsCame,
  send,
  takeHead,
  takeRequest,
  untilEnded,
  upstreamEnded,
} from '../steps.ts';

/** Why the next request comes over another connection, which it does not without the sidecar. */
export const EARLY_ENDS_UPSTREAM =
  'nothing follows on an upstream connection whose answer was complete before its request';

/** A client that is answered after `first`, sends the rest of its content all the same, and another request. */
const goingOn = (first: string, rest: string): ClientScript => [
  ...[send(first), finals(1), send(rest), requestsCame(1)],
  ...[send(request('GET /calls/2')), finals(2)],
];

/** RFC 9112 §9.3: an upstream may answer before the request has come whole. */
const earlyAnswers: readonly DataPathCase[] = [
  {
    name: 'early answer: the rest of the content and another request follow',
    statuses: [413, 200],
    sidecarOnly: EARLY_ENDS_UPSTREAM,
    upstream: answeringPostsEarly(responseWith('too large', '413 Content Too Large'), 100),
    client: goingOn(request('POST /calls/1', 'Content-Length: 1000') + 'a'.repeat(100), 'b'.repeat(900)),
    verify: ({ requests, upstreamConnections }) => {
      expect(requests.map(({ body }) => body.length)).toEqual([1_000, 0]);
      expect(upstreamConnections).toBe(2);
    },
  },
  ...[
    ['to a length', request('POST /calls/1', 'Content-Length: 1000') + 'a'.repeat(100), 100] as const,
    ['to chunks', `${request('POST /calls/1', 'Transfer-Encoding: chunked')}3\r\nabc\r\n`, 3] as const,
  ].map(
    ([what, asked, contentBytes]): DataPathCase => ({
      name: `early answer: ${what}, then the end of the connection`,
      statuses: [401],
      upstream: [
        takeHead,
        contentCame(contentBytes),
        send(responseWith('who?', '401 Unauthorized', 'Connection: close')),
        finish,
      ],
      client: [send(asked), untilEnded],
      verify: ({ responses }) => expect(responses[0]?.body).toBe('who?'),
    }),
  ),
  {
    name: 'early answer: to the head alone',
    statuses: [403, 200],
    sidecarOnly: EARLY_ENDS_UPSTREAM,
    upstream: answeringPostsEarly(responseWith('no', '403 Forbidden')),
    client: goingOn(request('POST /calls/1', 'Content-Length: 4'), 'body'),
  },
  {
    name: 'both ways at once: each piece of the content is answered before the next is sent',
    statuses: [200],
    upstream: [
      ...[takeHead, send(response('200 OK', 'Transfer-Encoding: chunked'))],
      ...[1, 2, 3, 4, 5].flatMap((piece) => [contentCame(piece), send(`1\r\n${piece}\r\n`)]),
      send('0\r\n\r\n'),
    ],
    client: [
      ...[send(request('POST /calls/1', 'Transfer-Encoding: chunked')), heads(1)],
      ...[1, 2, 3, 4, 5].flatMap((piece) => [send(`1\r\n${piece}\r\n`), bodyCame(piece)]),
      ...[send('0\r\n\r\n'), finals(1), requestsCame(1)],
    ],
  },
];

const FINISHED = [finish, note('client: finished sending')];
const GET = request('GET /calls/1');

/** RFC 9112 §9.6, TCP: a FIN ends one direction only. */
const halfClosed: readonly DataPathCase[] = [
  {
    name: 'half-close: reaches the upstream, which answers only then',
    statuses: [200],
    upstream: [takeRequest, untilEnded, send(OK), finish],
    client: [send(requestWith('content', 'POST /calls/1')), finish, untilEnded],
  },
  {
    name: 'half-close: after two pipelined requests, both answered',
    statuses: [200, 200],
    upstream: [noted(1), answering(OK)],
    client: [send(GET + request('GET /calls/2')), ...FINISHED, finals(2), untilEnded],
  },
  {
    name: 'half-close: after two pipelined requests it reaches the upstream, which answers the second only then',
    statuses: [200, 200],
    upstream: [takeRequest, send(OK), takeRequest, untilEnded, send(OK), finish],
    client: [send(GET + requestWith('content', 'POST /calls/2')), finish, untilEnded],
  },
  {
    name: 'half-close: in the middle of the answer, the rest of which still comes',
    statuses: [200],
    upstream: [takeRequest, send(`${response('200 OK', 'Content-Length: 10')}first`), noted(1), send('after'), finish],
    client: [send(GET), bodyCame(5), ...FINISHED, untilEnded],
    verify: ({ responses }) => expect(responses[0]?.body).toBe('firstafter'),
  },
  {
    name: 'half-close: an idle client that leaves is let go, down to the upstream',
    statuses: [200],
    upstream: answering(OK),
    client: [send(GET), finals(1), finish, untilEnded, upstreamEnded],
  },
];

/** The half of it is more than both kernels' buffers on two hops take. */
const PRESSURE_BYTES = 64 * MEBIBYTE;
const pause = (end: CaseEnd) => void end.socket.pause();
const resume = (end: CaseEnd) => void end.socket.resume();

/** Notes whether the sender of 64 MiB had to wait; `pieceAt` says what it sends next. Resolves when all is sent. */
async function pour(
  end: CaseEnd,
  side: string,
  pieceAt: (sentBytes: number, hasWaited: boolean) => Buffer,
): Promise<void> {
  let sentBytes = 0;
  let hasWaited = false;
  const sending = (async () => {
    while (sentBytes < PRESSURE_BYTES) {
      const piece = pieceAt(sentBytes, hasWaited);
      await end.send(piece);
      sentBytes += piece.length;
      if (piece.length < NOISE.length) await turns(1);
    }
  })();
  const stalledBytes = await untilStill(() => sentBytes);
  end.run.note(
    stalledBytes < PRESSURE_BYTES / 2 ? `${side}: had to wait` : `${side}: sent ${stalledBytes} bytes unread`,
  );
  hasWaited = true;
  await sending;
}

/** The upstream sends nothing before: what a client reads until then depends on the machine. */
const PAUSED = 'client: paused';

function unreadDownload(what: string, pieceAt: Parameters<typeof pour>[2]): DataPathCase {
  return {
    name: `back pressure: a client that does not read makes an upstream ${what}wait`,
    statuses: [200],
    deadlineMs: 20_000,
    upstream: [
      takeRequest,
      send(response('200 OK', `Content-Length: ${PRESSURE_BYTES}`)),
      noted(1),
      (upstream) => pour(upstream, 'upstream', pieceAt),
    ],
    client: [...[send(request('GET /download')), heads(1), pause, note(PAUSED)], ...[noted(2), resume, finals(1)]],
    verify: ({ notes }) => expect(notes).toEqual([PAUSED, 'upstream: had to wait']),
  };
}

const pressure: readonly DataPathCase[] = [
  {
    name: 'back pressure: an upstream that does not read makes the client wait',
    statuses: [200],
    deadlineMs: 20_000,
    upstream: [takeHead, pause, noted(1), resume, requestsCame(1), send(OK)],
    client: [
      send(request('POST /upload', `Content-Length: ${PRESSURE_BYTES}`)),
      (client) => pour(client, 'client', () => NOISE),
      finals(1),
    ],
    verify: ({ notes }) => expect(notes).toEqual(['client: had to wait']),
  },
  unreadDownload('', () => NOISE),
  // Each piece is one that the relay writes at the end of its turn, with those of others; what is left may go faster.
  unreadDownload('of small pieces ', (sentBytes, hasWaited) => {
    const at = sentBytes % NOISE.length;
    return NOISE.subarray(at, hasWaited ? NOISE.length : Math.min(at + 3_000, NOISE.length));
  }),
];

export const earlyAndHalfClosedCases: readonly DataPathCase[] = [...earlyAnswers, ...halfClosed, ...pressure];
