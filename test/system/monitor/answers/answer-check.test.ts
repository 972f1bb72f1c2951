import { expect, it, onTestFinished } from 'vitest';
import { SECURITY_FIELDS } from '../../../../src/monitor/send.ts';
import { Folder } from '../../../support/monitor/access/access-files.ts';
import { complaintsAbout } from '../../../support/monitor/answers/answer-check.ts';
import { type RecordedAnswer, RecordedAnswers } from '../../../support/monitor/answers/recorded-answers.ts';
import { exchange, portOf } from '../../../support/net.ts';
import { startSidecarBefore } from '../../../support/sidecar-process.ts';

const BASE = '/smartWeb/api/rest/v0/admin';
const JSON_FIELDS = {
  ...{ 'content-type': 'application/json', 'cache-control': 'must-revalidate,no-cache,no-store' },
  ...SECURITY_FIELDS,
};
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

it.each<[string, string, Parts, string]>([
  ['another status', '/livez', { status: 418 }, 'status 418 is not described'],
  ['a member that is unknown', '/livez', { content: { status: 'ok', since: 1 } }, 'additional properties'],
  ['content for HEAD', '/livez', { method: 'HEAD' }, 'content in an answer to HEAD'],
  ['another media type', '/livez', withField('content-type', 'text/plain'), 'media type text/plain'],
  ['a missing field', '/livez', withField('x-frame-options'), 'without the field x-frame-options'],
  ['a field of another value', '/livez', withField('cache-control', 'no'), 'with cache-control: no'],
  ['names of another kind', `${BASE}/metrics/d2/object/a`, { content: OF_JVM }, 'NOT have more than 0'],
])('the check of answers finds %s', (_what, target, parts, complaint) => {
  expect(complaintsAbout(answerTo(target, parts)).join('\n')).toContain(complaint);
});

function withField(name: string, value?: string): Parts {
  const { [name]: _, ...others } = JSON_FIELDS as Record<string, string>;
  return { fields: value === undefined ? others : { ...others, [name]: value } };
}

it('the record holds every answer of another process, for every kind of client', async () => {
  const folder = new Folder();
  const sidecar = await startSidecarBefore(1, { D2S_ANSWERS_FOLDER: folder.path });
  onTestFinished(async () => {
    await sidecar.stop('SIGKILL');
    folder.remove();
  });
  const end = 'Host: localhost\r\nConnection: close\r\n\r\n';
  const asked: readonly (readonly [request: string, target: string | undefined, status: number])[] = [
    [`GET /livez HTTP/1.1\r\n${end}`, '/livez', 200],
    [`HEAD /metrics HTTP/1.1\r\n${end}`, '/metrics', 200],
    [`GET ${BASE}/metrics/d2 HTTP/1.1\r\n${end}`, `${BASE}/metrics/d2`, 200],
    [`DELETE /livez HTTP/1.1\r\n${end}`, '/livez', 405],
    ['not http\r\n\r\n', undefined, 400],
    [`CONNECT localhost:1 HTTP/1.1\r\n${end}`, undefined, 405],
  ];
  for (const [request] of asked) await exchange(portOf(sidecar.monitor), request);
  const recorded = new RecordedAnswers(folder.path);
  const answers = recorded.takeNew();
  expect(answers.map(({ target, head }) => [target, Number(head.split(' ')[1])])).toEqual(
    asked.map(([, target, status]) => [target, status]),
  );
  expect(recorded.takeNew()).toEqual([]);
});
