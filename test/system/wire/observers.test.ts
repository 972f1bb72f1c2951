/** What observers are told of exchanges: everything once and in order, of whole bodies and of broken ones, without changing a case. */
import { afterAll, describe, expect, it } from 'vitest';
import { deferTo } from '../../support/deferred.ts';
import { startObserved } from '../../support/wire/observed-stand.ts';
import { dataPathCases } from '../data-path.cases.ts';
import { Comparison } from './comparison.ts';
import { answeringPostsEarly, OK, request, requestInChunks, response } from './compose.ts';
import type { UpstreamScript } from './ends.ts';
import type { MessageSeen, Observation } from './observation.ts';
import { type ExchangeSeen, RecordingObserver } from './recording-observer.ts';
import { CaseRunner, type ClientScript } from './run-case.ts';
import {
  bodyCame,
  contentCame,
  finals,
  finish,
  requestsCame,
  send,
  takeHead,
  takeRequest,
  untilEnded,
} from './steps.ts';

/** What an exchange is made of, in order; the rest is in `expectOrder`. */
const ORDER = /^b[qQhrR]*e[cu]*x?$/;

function expectOrder({ order, ending, head }: ExchangeSeen): void {
  expect(order).toMatch(ORDER);
  for (const letter of 'bQhRex') expect(order.split(letter).length, `${letter} in ${order}`).toBeLessThanOrEqual(2);
  for (const pattern of [/Q.*q/, /R.*r/]) expect(order).not.toMatch(pattern);
  for (const letter of 'rRcux')
    if (order.includes(letter)) expect(order.indexOf('h')).toBeLessThan(order.indexOf(letter));
  if (head?.status === 101) {
    expect(order).toMatch(/^bQhe[cu]*x$/);
    return;
  }
  expect(order).not.toMatch(/[cux]/);
  expect(order.includes('R'), `${order}, ${ending?.kind}`).toBe(ending?.kind === 'completed');
}

type Compared = Record<'requests' | 'responses' | 'tunnels', number>;

/** Compares payloads with the messages that both ends saw, where each message can be told to be of one exchange. */
function expectPayloads(seen: readonly ExchangeSeen[], ends: Observation, compared: Compared): void {
  const finals = ends.responses.filter(({ startLine }) => !/^HTTP\/1\.\d 1(?!01)/.test(startLine));
  if (ends.requests.length === seen.length) {
    for (const [index, one] of seen.entries()) {
      expectRequest(one, ends.requests[index]!);
      compared.requests += 1;
    }
  }
  if (finals.length !== seen.length || seen.some(({ ending }) => ending?.kind !== 'completed')) return;
  for (const [index, one] of seen.entries()) {
    expectResponse(one, finals[index]!);
    compared.responses += 1;
    if (one.head?.status !== 101) continue;
    compared.tunnels += 1;
    expectTunnel(one, ends);
  }
}

function expectRequest(one: ExchangeSeen, request: MessageSeen): void {
  const observed = one.request.describe();
  const { target } = one;
  const { method } = one.exchange;
  expect(request.startLine.replace(/ [^ ]*$/, '')).toBe(`${method} ${target}`);
  if (!request.isComplete) expect(one.order).not.toContain('Q');
  if (one.order.includes('Q') && request.isComplete) expect(observed).toBe(request.body);
  // Either may have been cut off before the other.
  else expect(observed.startsWith(request.body) || request.body.startsWith(observed), observed).toBe(true);
}

function expectResponse(one: ExchangeSeen, response: MessageSeen): void {
  expect(one.head?.status).toBe(Number(response.startLine.split(' ')[1]));
  expect(one.exchange.status).toBe(one.head?.status);
  expect(one.response.describe()).toBe(response.body);
  for (const name of ['content-type', 'set-cookie', 'x-twice', 'etag', 'link', 'x-empty', 'x-tab', 'x-user']) {
    const lines = response.fields.filter((line) => line.toLowerCase().startsWith(`${name}:`));
    const values = lines.map((line) => line.slice(name.length + 1).trim());
    expect(one.head?.fields(name)).toEqual(values);
    expect(one.head?.field(name)).toBe(values[0]);
  }
}

/** A long one is shown as its checksum by both, in words of their own. */
function expectTunnel(one: ExchangeSeen, ends: Observation): void {
  const shown = (text: string) => /sha256 (\w+)$/.exec(text)?.[1] ?? text;
  expect(shown(one.fromClient.describe())).toBe(shown(ends.upstreamTunnel));
  expect(shown(one.fromUpstream.describe())).toBe(shown(ends.clientTunnel));
}

const cases = dataPathCases.filter(({ name }) => !name.startsWith('back pressure'));

const comparison = await Comparison.start();
const deferToEnd = deferTo(afterAll);
deferToEnd(() => comparison.close());

const observer = new RecordingObserver();
const stand = await startObserved({ upstreamPort: comparison.upstream.port }, observer, deferToEnd);

describe('observers are told everything once and in order, and no case changes:', () => {
  const compared: Compared = { requests: 0, responses: 0, tunnels: 0 };
  let played = 0;

  it.each(cases)('$name', async (subject) => {
    const ends = await comparison.play(subject, stand.port, 'fields');
    await stand.allClosed();
    const seen = observer.takeAll();
    for (const one of seen) expectOrder(one);
    expectPayloads(seen, ends, compared);
    played += 1;
    expect([stand.sidecar.reporter.observerErrors, stand.sidecar.reporter.open]).toEqual([0, 0]);
  });

  it('the payloads of nearly all cases have been compared', () => {
    expect(played).toBe(cases.length);
    expect(compared.requests).toBeGreaterThan(1.6 * played);
    expect(compared.responses).toBeGreaterThan(1.48 * played);
    expect(compared.tunnels).toBeGreaterThan(8);
  });
});

/** What was observed of the exchanges of one client, to whom both ends do what they will. */
async function play(client: ClientScript, script: UpstreamScript): Promise<readonly ExchangeSeen[]> {
  await new CaseRunner(comparison.upstream).run({ name: 'broken', upstream: script, client }, stand.port);
  await stand.allClosed();
  const seen = observer.takeAll();
  for (const one of seen) expectOrder(one);
  return seen;
}

const CHUNKED = response('200 OK', 'Transfer-Encoding: chunked');

const breaking = (answer: string): UpstreamScript => [takeRequest, send(answer), finish];

const asking: ClientScript = [send(request('GET /calls/1')), untilEnded];

describe('an observer', () => {
  it('a request’s body that breaks at a trailer that frames has had no end', async () => {
    const broken = send('0\r\nContent-Length: 1\r\n\r\n');
    const [one] = await play(
      [send(requestInChunks('3\r\nabc\r\n', 'POST /calls')), contentCame(3), broken, untilEnded],
      [takeHead, untilEnded],
    );
    expect(one?.request.describe()).toBe('abc');
    expect(one?.ending?.kind).toBe('cancelled');
    expect(one?.order).toBe('bqe');
  });

  it.each([
    ['within a length', `${response('200 OK', 'Content-Length: 10')}half`],
    ['within the trailers', `${CHUNKED}4\r\nhalf\r\n0\r\nX-Sum:`],
  ])('a response’s body that breaks off %s has had no end', async (_where, answer) => {
    const [one] = await play(asking, breaking(answer));
    expect(one?.response.describe()).toBe('half');
    expect(one?.ending).toMatchObject({ kind: 'failed', failure: { code: 'D2S_ERR_UPSTREAM_INCOMPLETE' } });
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
});
