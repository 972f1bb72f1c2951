import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ObservedPlane } from '../../support/wire/observed-plane.ts';
import { answeringPostsEarly, OK, request, requestInChunks, response } from './compose.ts';
import type { ClientScript, DataPathCase } from './data-path-case.ts';
import { expectOrder } from './observed-cases.ts';
import { type ExchangeSeen, RecordingObserver } from './recording-observer.ts';
import { CaseRunner } from './run-case.ts';
import { ScriptedUpstream, type UpstreamScript } from './scripted-upstream.ts';
import {
  bodyCame,
  contentCame,
  finals,
  finish,
  note,
  requestsCame,
  reset,
  send,
  takeHead,
  takeRequest,
  untilEnded,
} from './steps.ts';

let upstream: ScriptedUpstream;
let plane: ObservedPlane;
let observer: RecordingObserver;

beforeAll(async () => {
  upstream = await ScriptedUpstream.listen();
});

afterAll(() => upstream.close());

afterEach(() => plane.close());

/** What was observed of the exchanges of one client, to whom both ends do what they will. */
async function play(client: ClientScript, script: UpstreamScript): Promise<readonly ExchangeSeen[]> {
  const subject: DataPathCase = { name: 'broken', statuses: [], upstream: script, client };
  await new CaseRunner(upstream).run(subject, plane.port);
  await plane.allClosed();
  const seen = observer.takeAll();
  for (const one of seen) expectOrder(one);
  return seen;
}

const reading: UpstreamScript = [takeHead, untilEnded];

/** An upstream that sends `answer`, and then breaks off. */
const breaking = (answer: string): UpstreamScript => [takeRequest, send(answer), finish];

const asking: ClientScript = [send(request('GET /calls/1')), untilEnded];

for (const dataPath of ['auto', 'gateway'] as const) {
  describe(`with dataPath ${dataPath}`, () => {
    beforeEach(async () => {
      observer = new RecordingObserver();
      plane = await ObservedPlane.start({ dataPath, upstreamPort: upstream.port }, observer);
    });

    it.each([
      ['a broken chunk', 'zz\r\n'],
      ['a trailer that frames', '0\r\nContent-Length: 1\r\n\r\n'],
    ])('a request’s body that breaks at %s has had no end', async (_what, broken) => {
      const [one] = await play(
        [send(requestInChunks('3\r\nabc\r\n', 'POST /calls')), contentCame(3), send(broken), untilEnded],
        reading,
      );
      expect(one?.request.describe()).toBe('abc');
      expect(one?.ending?.kind).toBe('cancelled');
      expect(one?.order).toBe('bqe');
    });

    it('a request’s body whose client leaves in the middle has had no end', async () => {
      const [one] = await play(
        [send(`${request('POST /calls', 'Content-Length: 10')}half`), contentCame(4), reset],
        reading,
      );
      expect(one?.request.describe()).toBe('half');
      expect(one?.order).toBe('bqe');
    });

    it.each([
      ['within a length', `${response('200 OK', 'Content-Length: 10')}half`],
      ['within a chunk', `${response('200 OK', 'Transfer-Encoding: chunked')}a\r\nhalf`],
      ['behind a chunk', `${response('200 OK', 'Transfer-Encoding: chunked')}4\r\nhalf\r\n`],
      ['within the trailers', `${response('200 OK', 'Transfer-Encoding: chunked')}4\r\nhalf\r\n0\r\nX-Sum:`],
    ])('a response’s body that breaks off %s has had no end', async (_where, answer) => {
      const [one] = await play(asking, breaking(answer));
      expect(one?.response.describe()).toBe('half');
      expect(one?.ending).toMatchObject({ kind: 'failed', failure: { code: 'D2S_ERR_UPSTREAM_INCOMPLETE' } });
      expect(one?.order).toBe('bQhre');
    });

    it('a response until close that is reset has had no end', async () => {
      const [one] = await play(
        [send(request('GET /calls/1')), bodyCame(4), note('client: has a half'), untilEnded],
        async (connection) => {
          await connection.request();
          await connection.send(`${response('200 OK')}half`);
          await connection.run.noted(1);
          connection.reset();
        },
      );
      expect(one?.response.describe()).toBe('half');
      expect(one?.order).toBe('bQhre');
    });

    it('a response whose chunks are malformed has had no end', async () => {
      const good = `${response('200 OK', 'Transfer-Encoding: chunked')}4\r\ngood\r\n`;
      const [one] = await play(
        [send(request('GET /calls/1')), bodyCame(4), note('client: has the good part'), untilEnded],
        async (connection) => {
          await connection.request();
          await connection.send(good);
          await connection.run.noted(1);
          await connection.send('zz\r\nbad');
          await connection.ended();
        },
      );
      expect(one?.response.describe()).toBe('good');
      expect(one?.ending).toMatchObject({ kind: 'failed', failure: { code: 'D2S_ERR_UPSTREAM_PROTOCOL' } });
      expect(one?.order).toBe('bQhre');
    });

    it('the sidecar’s own answer is not reported as a response', async () => {
      const [one] = await play([send(request('GET /calls/1')), finals(1)], breaking('HTTP/1.1 200'));
      expect(one?.head).toBeUndefined();
      expect(one?.order).toBe('bQe');
    });

    it('nothing is observed of a request after its early response', async () => {
      const seen = await play(
        [
          send(`${request('POST /calls/1', 'Content-Length: 6')}abc`),
          finals(1),
          send('def'),
          requestsCame(1),
          send(request('GET /calls/2')),
          finals(2),
        ],
        answeringPostsEarly(OK, 3),
      );
      expect(seen.map(({ order }) => order)).toEqual(['bqhrRe', 'bQhrRe']);
      expect(seen[0]?.request.describe()).toBe('abc');
    });

    it('a request is observed to its end while its early response goes on', async () => {
      const [one] = await play(
        [send(`${request('POST /calls/1', 'Content-Length: 6')}abc`), bodyCame(2), send('def'), finals(1)],
        [takeHead, send(`${response('200 OK', 'Content-Length: 4')}fi`), requestsCame(1), send('ne'), untilEnded],
      );
      expect(one?.order).toBe('bqhrqQrRe');
      expect([one?.request.describe(), one?.response.describe()]).toEqual(['abcdef', 'fine']);
    });

    it('a head has its fields as they came, and interim heads are not reported', async () => {
      const [one] = await play([send(request('GET /a')), finals(1)], async (connection) => {
        await connection.request();
        const hints = response('103 Early Hints', 'Set-Cookie: interim=1', 'Link: </a>');
        const fields = ['Set-Cookie: a=1; Path=/', 'X-None:', 'set-cookie: \t b=\xe9 \t', 'Content-Length: 0'];
        await connection.send(hints + response('201 Created', ...fields));
        await connection.ended();
      });
      const { head } = one!;
      expect([head?.status, head?.field('set-cookie'), head?.fields('set-cookie')]).toEqual([
        201,
        'a=1; Path=/',
        ['a=1; Path=/', 'b=\xe9'],
      ]);
      expect([head?.field('x-none'), head?.field('link'), head?.fields('link')]).toEqual(['', undefined, []]);
      expect(one?.order).toBe('bQhRe');
    });
  });
}
