import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SECURITY_FIELDS } from '../../../../src/monitor/send.ts';
import { Folder } from '../../../support/monitor/access/access-files.ts';
import { complaintsAbout } from '../../../support/monitor/answers/checked-answers.ts';
import { type RecordedAnswer, RecordedAnswers } from '../../../support/monitor/answers/recorded-answers.ts';
import { exchange, portOf } from '../../../support/net.ts';
import { startSidecarBefore } from '../../../support/sidecar-process.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const JSON_FIELDS = {
  ...{ 'content-type': 'application/json', 'cache-control': 'must-revalidate,no-cache,no-store' },
  ...SECURITY_FIELDS,
};
const PROBLEM = { status: 404, fields: { ...JSON_FIELDS, 'content-type': 'application/problem+json' } };
const NOT_THERE = { type: 'about:blank', title: 'Not Found', status: 404, detail: 'No.' };
const OK = { status: 'ok' };
const METRICS = { version: '4.0.0', gauges: {}, counters: {}, histograms: {}, meters: {}, timers: {} };
const OF_JVM = { ...METRICS, gauges: { a: { value: 1 } } };

interface Parts {
  readonly method?: string | undefined;
  readonly status?: number;
  readonly fields?: Readonly<Record<string, string>>;
  readonly content?: unknown;
  readonly isWhole?: boolean;
}

function answerTo(target: string, parts: Parts = {}): RecordedAnswer {
  const { method = 'GET', status = 200, fields = JSON_FIELDS, content = OK, isWhole = true } = parts;
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return {
    ...{ method, target, isWhole, applications: ['smartWeb'] },
    head: `HTTP/1.1 ${status} Whatever\r\n${lines.join('')}\r\n`,
    content: Buffer.from(typeof content === 'string' ? content : JSON.stringify(content)),
  };
}

describe('the check of answers', () => {
  it.each<[string, string, Parts]>([
    ['health', '/livez', {}],
    ['a slash at the end', '/livez/', {}],
    ['a target with its host', 'http://plant:9280/livez?a=b', {}],
    ['an encoded path', `${BASE}/d2/%73essions`, { content: [] }],
    ['HEAD', '/livez', { method: 'HEAD', content: '' }],
    ['a path that is not there', '/nowhere', { ...PROBLEM, content: NOT_THERE }],
    ['half a document', `${BASE}/metrics/jvm`, { ...PROBLEM, status: 503, content: '{"ty', isWhole: false }],
  ])('has nothing to say against %s', (_what, target, parts) => {
    expect(complaintsAbout(answerTo(target, parts))).toEqual([]);
  });

  it.each<[string, string, Parts, string]>([
    ['another status', '/livez', { status: 418 }, 'status 418 is not described'],
    ['success on a path that is not there', '/nowhere', {}, 'status 200 is not described'],
    ['success for another method', '/livez', { method: 'POST' }, 'status 200 is not described'],
    ['a member that is unknown', '/livez', { content: { status: 'ok', since: 1 } }, 'additional properties'],
    ['a member that is missing', '/livez', { content: {} }, "must have required property 'status'"],
    ['another value', '/livez', { content: { status: 'fine' } }, 'must be equal to one of the allowed values'],
    ['no JSON', '/livez', { content: 'ok' }, 'no JSON'],
    ['content for HEAD', '/livez', { method: 'HEAD' }, 'content in an answer to HEAD'],
    ['another media type', '/livez', withField('content-type', 'text/plain'), 'media type text/plain'],
    ['a missing field', '/livez', withField('x-frame-options'), 'without the field x-frame-options'],
    ['an unknown field', '/livez', withField('x-more', '1'), 'the field x-more'],
    ['a field of another value', '/livez', withField('cache-control', 'no'), 'with cache-control: no'],
    ['a field that is no number', `${BASE}/metrics/d2/sba`, withField('metrics-window', '5m'), 'metrics-window: 5m'],
    ['statistics without totals', `${BASE}/metrics/d2/sba`, { content: METRICS }, "must have required property 'sba"],
    ['names of another kind', `${BASE}/metrics/d2/object/a`, { content: OF_JVM }, 'NOT have more than 0'],
    ['a problem that is none', '/nowhere', PROBLEM, "must have required property 'type'"],
  ])('finds %s', (_what, target, parts, complaint) => {
    expect(complaintsAbout(answerTo(target, parts)).join('\n')).toContain(complaint);
  });
});

function withField(name: string, value?: string): Parts {
  const { [name]: _, ...others } = JSON_FIELDS as Record<string, string>;
  return { fields: value === undefined ? others : { ...others, [name]: value } };
}

it('every test that sets NODE_OPTIONS for a process keeps the recorder that is loaded by it', () => {
  const root = path.join(import.meta.dirname, '../../..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' });
  // The bench and the chaos runs are not part of this suite.
  const ofSuite = files.filter((file) => /\.ts$/.test(file) && !/^(?:bench|chaos|fixtures)\//.test(file));
  const textOf = (file: string) => readFileSync(path.join(root, file), 'utf8');
  const setting = ofSuite.filter((file) => /NODE_OPTIONS['"]?\s*[:=]/.test(textOf(file)));
  expect(setting).toContain('support/monitor/answers/setup.ts');
  expect(setting.filter((file) => !textOf(file).includes('process.env.NODE_OPTIONS'))).toEqual([]);
});

describe('the record of answers', () => {
  async function start() {
    const folder = new Folder();
    const sidecar = await startSidecarBefore(1, { D2S_ANSWERS_FOLDER: folder.path });
    onTestFinished(async () => {
      await sidecar.stop('SIGKILL');
      folder.remove();
    });
    return { port: portOf(sidecar.monitor), recorded: new RecordedAnswers(folder.path) };
  }

  it('holds every answer of another process, for every kind of client', async () => {
    const { port, recorded } = await start();
    const end = 'Host: localhost\r\nConnection: close\r\n\r\n';
    const asked: readonly (readonly [string, string | undefined, number])[] = [
      [`GET /livez HTTP/1.1\r\n${end}`, '/livez', 200],
      [`HEAD /metrics HTTP/1.1\r\n${end}`, '/metrics', 200],
      [`GET /metrics HTTP/1.1\r\n${end}`, '/metrics', 200],
      [`GET ${BASE}/metrics/d2 HTTP/1.1\r\n${end}`, `${BASE}/metrics/d2`, 200],
      [`DELETE /livez HTTP/1.1\r\n${end}`, '/livez', 405],
      [`GET /nowhere HTTP/1.1\r\n${end}`, '/nowhere', 404],
      ['not http\r\n\r\n', undefined, 400],
      [`CONNECT localhost:1 HTTP/1.1\r\n${end}`, undefined, 405],
    ];
    const texts: string[] = [];
    for (const [request] of asked) texts.push(await exchange(port, request));
    const answers = recorded.takeNew();
    expect(answers.map(({ target, head }) => [target, Number(head.split(' ')[1])])).toEqual(
      asked.map(([, target, status]) => [target, status]),
    );
    // The record equals the received answer: its head, and its content unless it was chunked.
    for (const [i, { head, content }] of answers.entries()) {
      expect(texts[i]).toContain(head);
      const isChunked = head.toLowerCase().includes('chunked');
      if (!isChunked) expect(texts[i]?.slice(head.length)).toBe(content.toString('latin1'));
    }
    expect(answers.flatMap(complaintsAbout)).toEqual([]);
    expect(answers[3]?.content.toString('utf8')).toContain('"sessions.active"');
  });

  it('holds an answer whose client left before its end', async () => {
    const { port, recorded } = await start();
    const request = http.get({ host: '127.0.0.1', port, path: '/livez' });
    await new Promise((resolve) => request.on('response', resolve));
    request.destroy();
    expect(recorded.takeNew().map(({ target }) => target)).toEqual(['/livez']);
    expect(recorded.takeNew()).toEqual([]);
  });
});
