import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { turns } from '../../../support/wire/split-writer.ts';
import { answeringPostsEarly, MEBIBYTE, NOISE, OK, request, requestWith, response, responseWith } from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';

/** Why the next request comes over another connection, which it does not without the sidecar. */
export const EARLY_ENDS_UPSTREAM =
  'nothing follows on an upstream connection whose answer was complete before its request';

/** RFC 9112 §9.3: an upstream may answer before the request has come whole. */
const earlyAnswers: readonly DataPathCase[] = [
  {
    name: 'early answer: the rest of the content and another request follow',
    statuses: [413, 200],
    sidecarOnly: EARLY_ENDS_UPSTREAM,
    upstream: answeringPostsEarly(responseWith('too large', '413 Content Too Large'), 100),
    client: async (client, run) => {
      await client.send(request('POST /calls/1', 'Content-Length: 1000') + 'a'.repeat(100));
      await client.finals(1);
      await client.send('b'.repeat(900));
      await run.requestsCame(1);
      await client.send(request('GET /calls/2'));
      await client.finals(2);
    },
    verify: ({ requests, upstreamConnections }) => {
      expect(requests.map(({ body }) => body.length)).toEqual([1_000, 0]);
      expect(upstreamConnections).toBe(2);
    },
  },
  {
    name: 'early answer: with a length, then the end of the connection',
    statuses: [413],
    upstream: async (connection) => {
      await connection.head();
      await connection.run.bodyCame(100);
      await connection.write(responseWith('too large', '413 Content Too Large', 'Connection: close'));
      connection.end();
    },
    client: async (client) => {
      await client.send(request('POST /calls/1', 'Content-Length: 1000') + 'a'.repeat(100));
      await client.ended();
    },
    verify: ({ responses }) => expect(responses[0]?.body).toBe('too large'),
  },
  {
    name: 'early answer: to chunks, then the end of the connection',
    statuses: [401],
    upstream: async (connection) => {
      await connection.head();
      await connection.run.bodyCame(3);
      await connection.write(responseWith('who?', '401 Unauthorized', 'Connection: close'));
      connection.end();
    },
    client: async (client) => {
      await client.send(`${request('POST /calls/1', 'Transfer-Encoding: chunked')}3\r\nabc\r\n`);
      await client.ended();
    },
  },
  {
    name: 'early answer: to the head alone',
    statuses: [403, 200],
    sidecarOnly: EARLY_ENDS_UPSTREAM,
    upstream: answeringPostsEarly(responseWith('no', '403 Forbidden')),
    client: async (client, run) => {
      await client.send(request('POST /calls/1', 'Content-Length: 4'));
      await client.finals(1);
      await client.send('body');
      await run.requestsCame(1);
      await client.send(request('GET /calls/2'));
      await client.finals(2);
    },
  },
  {
    name: 'both ways at once: each piece of the content is answered before the next is sent',
    statuses: [200],
    upstream: async (connection) => {
      await connection.head();
      await connection.write(response('200 OK', 'Transfer-Encoding: chunked'));
      for (let piece = 1; piece <= 5; piece += 1) {
        await connection.run.bodyCame(piece);
        await connection.write(`1\r\n${piece}\r\n`);
      }
      await connection.write('0\r\n\r\n');
    },
    client: async (client, run) => {
      await client.send(request('POST /calls/1', 'Transfer-Encoding: chunked'));
      await client.heads(1);
      for (let piece = 1; piece <= 5; piece += 1) {
        await client.send(`1\r\n${piece}\r\n`);
        await client.bodyCame(piece);
      }
      await client.send('0\r\n\r\n');
      await client.finals(1);
      await run.requestsCame(1);
    },
  },
];

/** RFC 9112 §9.6, TCP: a FIN ends one direction only. */
const halfClosed: readonly DataPathCase[] = [
  {
    name: 'half-close: a client that finishes sending after its request is answered',
    statuses: [200],
    upstream: async (connection) => {
      await connection.request();
      await connection.run.noted(1);
      await connection.write(OK);
      connection.end();
    },
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      client.halfClose();
      run.note('client: finished sending');
      await client.ended();
    },
  },
  {
    name: 'half-close: reaches the upstream, which answers only then',
    statuses: [200],
    upstream: async (connection) => {
      await connection.request();
      await connection.ended();
      await connection.write(OK);
      connection.end();
    },
    client: async (client) => {
      await client.send(requestWith('content', 'POST /calls/1'));
      client.halfClose();
      await client.ended();
    },
  },
  {
    name: 'half-close: after two pipelined requests, both answered',
    statuses: [200, 200],
    upstream: async (connection) => {
      await connection.run.noted(1);
      while ((await connection.request()) !== undefined) await connection.write(OK);
    },
    client: async (client, run) => {
      await client.send(request('GET /calls/1') + request('GET /calls/2'));
      client.halfClose();
      run.note('client: finished sending');
      await client.finals(2);
      await client.ended();
    },
  },
  {
    name: 'half-close: after two pipelined requests it reaches the upstream, which answers the second only then',
    statuses: [200, 200],
    upstream: async (connection) => {
      await connection.request();
      await connection.write(OK);
      await connection.request();
      await connection.ended();
      await connection.write(OK);
      connection.end();
    },
    client: async (client) => {
      await client.send(request('GET /calls/1') + requestWith('content', 'POST /calls/2'));
      client.halfClose();
      await client.ended();
    },
  },
  {
    name: 'half-close: in the middle of the answer, the rest of which still comes',
    statuses: [200],
    upstream: async (connection) => {
      await connection.request();
      await connection.write(`${response('200 OK', 'Content-Length: 10')}first`);
      await connection.run.noted(1);
      await connection.write('after');
      connection.end();
    },
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.bodyCame(5);
      client.halfClose();
      run.note('client: finished sending');
      await client.ended();
    },
    verify: ({ responses }) => expect(responses[0]?.body).toBe('firstafter'),
  },
  {
    name: 'half-close: an idle client that leaves is let go, down to the upstream',
    statuses: [200],
    upstream: async (connection) => {
      while ((await connection.request()) !== undefined) await connection.write(OK);
    },
    client: async (client, run) => {
      await client.send(request('GET /calls/1'));
      await client.finals(1);
      client.halfClose();
      await client.ended();
      await run.upstreamEnded();
    },
  },
];

const PRESSURE_MEBIBYTES = 64;
/** More than both kernels' buffers on two hops take, and far less than the whole. */
const STALLED_BELOW = (PRESSURE_MEBIBYTES * MEBIBYTE) / 2;

/** A piece that the relay writes at the end of its turn, with those of others. */
const SMALL_BYTES = 3_000;

/** Until `progress` has not moved for 50 ms: that a sender does nothing cannot be told from any event. */
async function untilStill(progress: () => number): Promise<number> {
  for (let before = -1; before !== progress(); ) {
    before = progress();
    await delay(50);
  }
  return progress();
}

/** What a sender got rid of before it had to wait. */
function stallNote(side: string, sentBytes: number): string {
  return sentBytes < STALLED_BELOW
    ? `${side}: had to wait`
    : `${side}: sent ${sentBytes} bytes to one who does not read`;
}

/** The upstream sends nothing before: what a client reads until then depends on the machine. */
const PAUSED = 'client: paused';

const pressure: readonly DataPathCase[] = [
  {
    name: 'back pressure: an upstream that does not read makes the client wait',
    statuses: [200],
    deadlineMs: 20_000,
    upstream: async (connection) => {
      const head = await connection.head();
      connection.socket.pause();
      await connection.run.noted(1);
      connection.socket.resume();
      await connection.run.changed.until(() => head!.isComplete);
      await connection.write(OK);
    },
    client: async (client, run) => {
      await client.send(request('POST /upload', `Content-Length: ${PRESSURE_MEBIBYTES * MEBIBYTE}`));
      let sentBytes = 0;
      const sending = (async () => {
        for (; sentBytes < PRESSURE_MEBIBYTES * MEBIBYTE; sentBytes += NOISE.length) await client.send(NOISE);
      })();
      run.note(stallNote('client', await untilStill(() => sentBytes)));
      await sending;
      await client.finals(1);
    },
    verify: ({ notes }) => expect(notes).toEqual(['client: had to wait']),
  },
  {
    name: 'back pressure: a client that does not read makes the upstream wait',
    statuses: [200],
    deadlineMs: 20_000,
    upstream: async (connection) => {
      await connection.request();
      await connection.write(response('200 OK', `Content-Length: ${PRESSURE_MEBIBYTES * MEBIBYTE}`));
      await connection.run.noted(1);
      let sentBytes = 0;
      const sending = (async () => {
        for (; sentBytes < PRESSURE_MEBIBYTES * MEBIBYTE; sentBytes += NOISE.length) await connection.write(NOISE);
      })();
      connection.run.note(stallNote('upstream', await untilStill(() => sentBytes)));
      await sending;
    },
    client: async (client, run) => {
      await client.send(request('GET /download'));
      await client.heads(1);
      client.socket.pause();
      run.note(PAUSED);
      await run.noted(2);
      client.socket.resume();
      await client.finals(1);
    },
    verify: ({ notes }) => expect(notes).toEqual([PAUSED, 'upstream: had to wait']),
  },
  {
    name: 'back pressure: a client that does not read makes an upstream of small pieces wait',
    statuses: [200],
    deadlineMs: 20_000,
    upstream: async (connection) => {
      await connection.request();
      const total = PRESSURE_MEBIBYTES * MEBIBYTE;
      await connection.write(response('200 OK', `Content-Length: ${total}`));
      await connection.run.noted(1);
      let sentBytes = 0;
      let pieceBytes = SMALL_BYTES;
      const sending = (async () => {
        while (sentBytes < total) {
          const at = sentBytes % NOISE.length;
          const piece = NOISE.subarray(at, Math.min(at + pieceBytes, at + total - sentBytes));
          await connection.write(piece);
          sentBytes += piece.length;
          await turns(1);
        }
      })();
      connection.run.note(stallNote('upstream', await untilStill(() => sentBytes)));
      // What is left may go faster.
      pieceBytes = NOISE.length;
      await sending;
    },
    client: async (client, run) => {
      await client.send(request('GET /download'));
      await client.heads(1);
      client.socket.pause();
      run.note(PAUSED);
      await run.noted(2);
      client.socket.resume();
      await client.finals(1);
    },
    verify: ({ notes }) => expect(notes).toEqual([PAUSED, 'upstream: had to wait']),
  },
];

export const earlyAndHalfClosedCases: readonly DataPathCase[] = [...earlyAnswers, ...halfClosed, ...pressure];
