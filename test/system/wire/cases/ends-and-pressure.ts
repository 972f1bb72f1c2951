import { expect } from 'vitest';
import { untilStill } from '../../../support/wire/still.ts';
import { answering, MEBIBYTE, NOISE, OK, request, requestWith, response } from '../compose.ts';
import type { CaseEnd, RawClient, UpstreamScript } from '../ends.ts';
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
  reset,
  type Step,
  send,
  takeHead,
  takeRequest,
  untilEnded,
  upstreamEnded,
} from '../steps.ts';

const FINISHED = [finish, note('client: finished sending')];
const GET = request('GET /calls/1');

/** RFC 9112 §9.6, TCP: a FIN ends one direction only. */
const halfClosed: readonly DataPathCase[] = [
  {
    name: 'half-close: after two pipelined requests it reaches the upstream, which answers the second only then',
    statuses: [200, 200],
    upstream: [takeRequest, send(OK), takeRequest, untilEnded, send(OK), finish],
    client: [send(GET + requestWith('content', 'POST /calls/2')), finish, untilEnded],
  },
  {
    name: 'half-close: in the middle of the answer, the rest of which still comes',
    upstream: [takeRequest, send(`${response('200 OK', 'Content-Length: 10')}first`), noted(1), send('after'), finish],
    client: [send(GET), bodyCame(5), ...FINISHED, untilEnded],
    verify: ({ responses }) => expect(responses[0]?.body).toBe('firstafter'),
  },
  {
    name: 'half-close: an idle client that leaves is let go, down to the upstream',
    upstream: answering(OK),
    client: [send(GET), finals(1), finish, untilEnded, upstreamEnded],
  },
];

/** The half of it is more than both kernels' buffers on two hops take. */
const PRESSURE_BYTES = 64 * MEBIBYTE;
const pause = (end: CaseEnd) => void end.socket.pause();
const resume = (end: CaseEnd) => void end.socket.resume();

/** Notes whether the sender of 64 MiB had to wait. Resolves when all is sent. */
const pour = (side: string) => async (end: CaseEnd) => {
  let sentBytes = 0;
  const sending = (async () => {
    for (; sentBytes < PRESSURE_BYTES; sentBytes += NOISE.length) await end.send(NOISE);
  })();
  const stalledBytes = await untilStill(() => sentBytes);
  end.run.note(
    stalledBytes < PRESSURE_BYTES / 2 ? `${side}: had to wait` : `${side}: sent ${stalledBytes} bytes unread`,
  );
  await sending;
};

/** The upstream sends nothing before: what a client reads until then depends on the machine. */
const PAUSED = 'client: paused';

const pressure: readonly DataPathCase[] = [
  {
    name: 'back pressure: an upstream that does not read makes the client wait',
    deadlineMs: 20_000,
    upstream: [takeHead, pause, noted(1), resume, requestsCame(1), send(OK)],
    client: [send(request('POST /upload', `Content-Length: ${PRESSURE_BYTES}`)), pour('client'), finals(1)],
    verify: ({ notes }) => expect(notes).toEqual(['client: had to wait']),
  },
  {
    name: 'back pressure: a client that does not read makes an upstream wait',
    deadlineMs: 20_000,
    upstream: [takeRequest, send(response('200 OK', `Content-Length: ${PRESSURE_BYTES}`)), noted(1), pour('upstream')],
    client: [...[send(request('GET /download')), heads(1), pause, note(PAUSED)], ...[noted(2), resume, finals(1)]],
    verify: ({ notes }) => expect(notes).toEqual([PAUSED, 'upstream: had to wait']),
  },
];

const CHUNKED = response('200 OK', 'Transfer-Encoding: chunked');
const LENGTH = `${response('200 OK', 'Content-Length: 1000')}begin`;
const BETWEEN_CHUNKS = `${CHUNKED}5\r\nbegin\r\n`;
const UNTIL_CLOSE = `${response('200 OK')}begin`;
const UPLOAD = request('POST /calls/1', 'Content-Length: 1000');
const UPLOAD_IN_CHUNKS = `${request('POST /calls/1', 'Transfer-Encoding: chunked')}5\r\nbegin\r\n`;

/** Takes what comes, sends `text` at the first head, and then waits for the other side to leave. */
const silentAfter = (text = ''): UpstreamScript => [takeHead, send(text), untilEnded];

function clientAborts(
  name: string,
  statuses: number[],
  upstream: UpstreamScript,
  ...until: Step<RawClient>[]
): DataPathCase {
  return { name: `client abort: ${name}`, statuses, upstream, client: [...until, reset, upstreamEnded] };
}

const byClient: readonly DataPathCase[] = [
  clientAborts('while it waits for the answer', [], silentAfter(), send(GET), requestsCame(1)),
  clientAborts('while it receives an answer with a length', [200], silentAfter(LENGTH), send(GET), bodyCame(5)),
  clientAborts('while it receives an answer until close', [200], silentAfter(UNTIL_CLOSE), send(GET), bodyCame(5)),
  clientAborts('while it sends content with a length', [], silentAfter(), send(`${UPLOAD}begin`), contentCame(5)),
  clientAborts('while it sends chunks', [], silentAfter(), send(UPLOAD_IN_CHUNKS), contentCame(5)),
  clientAborts(
    'while it both sends and receives',
    [200],
    silentAfter(BETWEEN_CHUNKS),
    ...[send(UPLOAD_IN_CHUNKS), contentCame(5), bodyCame(5)],
  ),
];

/** The client has seen the beginning before the upstream leaves: an RST makes the kernel drop what is under way. */
const LEAVES = [noted(1), reset];
const seesBeginning = (...sent: Step<RawClient>[]): ClientScript => [
  ...sent,
  bodyCame(5),
  note('client: has the beginning'),
  untilEnded,
];

function upstreamAborts(name: string, answer: string, leave: typeof reset | typeof finish): DataPathCase {
  return {
    name: `upstream abort: ${name}`,
    upstream: [takeRequest, send(answer), noted(1), leave],
    client: seesBeginning(send(GET)),
    verify: ({ responses, clientEnding }) => {
      expect(responses[0]).toMatchObject({ body: 'begin', isComplete: false });
      expect(clientEnding).toBe('cut');
    },
  };
}

/** RFC 9112 §8: an incomplete message must be seen to be incomplete. */
const byUpstream: readonly DataPathCase[] = [
  upstreamAborts('FIN within a length', LENGTH, finish),
  upstreamAborts('RST within a length', LENGTH, reset),
  upstreamAborts('FIN within a chunk', `${CHUNKED}ff\r\nbegin`, finish),
  upstreamAborts('FIN between chunks', BETWEEN_CHUNKS, finish),
  upstreamAborts('FIN within trailers', `${BETWEEN_CHUNKS}0\r\nX-Sum: 1`, finish),
  upstreamAborts('RST within content until close, which must not look like its end', UNTIL_CLOSE, reset),
  {
    name: 'upstream abort: the second of two pipelined answers is cut',
    statuses: [200, 200],
    upstream: [takeRequest, send(OK), takeRequest, send(LENGTH), ...LEAVES],
    client: seesBeginning(send(GET + request('GET /calls/2')), finals(1)),
    verify: ({ responses }) => expect(responses.map(({ isComplete }) => isComplete)).toEqual([true, false]),
  },
];

export const endAndPressureCases: readonly DataPathCase[] = [...halfClosed, ...pressure, ...byClient, ...byUpstream];
