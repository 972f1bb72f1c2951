import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SECURITY_FIELDS } from '../../../../src/monitor/send.ts';
import { complaintsAbout } from '../../../support/monitor/answers/checked-answers.ts';
import { type RecordedAnswer, RecordedAnswers } from '../../../support/monitor/answers/recorded-answers.ts';
import { portOf } from '../../../support/net.ts';
import { flagsFor, type SidecarProcess, startSidecarProcess } from '../../../support/sidecar-process.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const JSON_FIELDS = {
  ...{ 'content-type': 'application/json', 'cache-control': 'must-revalidate,no-cache,no-store' },
  ...SECURITY_FIELDS,
};
const PROBLEM_FIELDS = { ...JSON_FIELDS, 'content-type': 'application/problem+json' };
const NOT_THERE = { type: 'about:blank', title: 'Not Found', status: 404, detail: 'No.' };
const OK = { status: 'ok' };
const METRICS = { version: '4.0.0', gauges: {}, counters: {}, histograms: {}, meters: {}, timers: {} };

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
    ['a path that is not there', '/nowhere', { status: 404, fields: PROBLEM_FIELDS, content: NOT_THERE }],
    [
      'half a document',
      `${BASE}/metrics/jvm`,
      { status: 503, fields: PROBLEM_FIELDS, content: '{"ty', isWhole: false },
    ],
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
    [
      'another media type',
      '/livez',
      { fields: { ...JSON_FIELDS, 'content-type': 'text/plain' } },
      'media type text/plain',
    ],
    ['a missing field', '/livez', { fields: omit('x-frame-options') }, 'without the field x-frame-options'],
    ['an unknown field', '/livez', { fields: { ...JSON_FIELDS, 'x-more': '1' } }, 'the field x-more'],
    [
      'a field of another value',
      '/livez',
      { fields: { ...JSON_FIELDS, 'cache-control': 'no' } },
      'with cache-control: no',
    ],
    [
      'a field that is no number',
      `${BASE}/metrics/d2/sba`,
      { fields: { ...JSON_FIELDS, 'metrics-window': '5m' } },
      'metrics-window: 5m',
    ],
    ['statistics without totals', `${BASE}/metrics/d2/sba`, { content: METRICS }, "must have required property 'sba"],
    [
      'names of another kind',
      `${BASE}/metrics/d2/object/a`,
      { content: { ...METRICS, gauges: { a: { value: 1 } } } },
      'NOT have more than 0',
    ],
    [
      'a problem that is none',
      '/nowhere',
      { status: 404, fields: PROBLEM_FIELDS },
      "must have required property 'type'",
    ],
  ])('finds %s', (_what, target, parts, complaint) => {
    expect(complaintsAbout(answerTo(target, parts)).join('\n')).toContain(complaint);
  });
});

function omit(name: string): Record<string, string> {
  return Object.fromEntries(Object.entries(JSON_FIELDS).filter(([other]) => other !== name));
}

/** Everything that comes back for a request, until the server ends the connection. */
async function exchange(port: number, request: string): Promise<string> {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(request);
  let text = '';
  for await (const bytes of socket) text += (bytes as Buffer).toString('latin1');
  return text;
}

it('every test that sets NODE_OPTIONS for a process keeps the recorder that is loaded by it', () => {
  const root = path.join(import.meta.dirname, '../../..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => /\.ts$/.test(file));
  // The bench and the chaos runs are no tests of this suite.
  const ofSuite = files.filter((file) => !/^(?:bench|chaos|fixtures)\//.test(file));
  const setting = ofSuite.filter((file) =>
    /NODE_OPTIONS['"]?\s*[:=]/.test(readFileSync(path.join(root, file), 'utf8')),
  );
  const keeping = setting.filter((file) =>
    readFileSync(path.join(root, file), 'utf8').includes('process.env.NODE_OPTIONS'),
  );
  expect(setting).toContain('support/monitor/answers/setup.ts');
  expect(keeping).toEqual(setting);
});

describe('the record of answers', () => {
  let folder: string;
  let sidecar: SidecarProcess;
  beforeEach(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'd2s-recorded-'));
    sidecar = await startSidecarProcess(flagsFor(1), { D2S_ANSWERS_FOLDER: folder, D2_SIDECAR_JVM_SOURCE: 'none' });
  });
  afterEach(async () => {
    await sidecar.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  it('holds every answer of another process, for every kind of client', async () => {
    const port = portOf(sidecar.monitor);
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
    const answers = new RecordedAnswers(folder).takeNew();
    expect(answers.map(({ target, head }) => [target, Number(head.split(' ')[1])])).toEqual(
      asked.map(([, target, status]) => [target, status]),
    );
    // What was written down is what came: head and, where it was not sent in chunks, content.
    for (const [i, { head, content }] of answers.entries()) {
      expect(texts[i]).toContain(head);
      if (!head.toLowerCase().includes('chunked'))
        expect(texts[i]?.slice(head.length)).toBe(content.toString('latin1'));
    }
    expect(answers.flatMap(complaintsAbout)).toEqual([]);
    expect(answers[3]?.content.toString('utf8')).toContain('"sessions.active"');
  });

  it('holds an answer whose client left before its end', async () => {
    const recorded = new RecordedAnswers(folder);
    const { port, host } = { port: portOf(sidecar.monitor), host: '127.0.0.1' };
    const request = http.get({ host, port, path: '/livez' });
    await new Promise((resolve) => request.on('response', resolve));
    request.destroy();
    expect(recorded.takeNew().map(({ target }) => target)).toEqual(['/livez']);
    expect(recorded.takeNew()).toEqual([]);
  });
});
