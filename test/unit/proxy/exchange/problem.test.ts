import { expect, it } from 'vitest';
import { encodeProblem, upstreamProblem } from '../../../../src/proxy/exchange/problem.ts';
import { UpstreamFailure } from '../../../../src/proxy/exchange/upstream-failure.ts';

const secret = new Error('connect ECONNREFUSED 10.9.8.7:8080 /smartWeb?key=secret');

it('an upstream that gave no answer is a problem with the failure’s status, RFC 9209 name and code, not its cause', () => {
  const problem = upstreamProblem(new UpstreamFailure('D2S_ERR_UPSTREAM_REFUSED', secret));
  expect(JSON.stringify(problem)).not.toMatch(/10\.9|secret|smartWeb/);
  expect(problem.status).toBe(502);
  const [head = '', body = ''] = encodeProblem(problem, { isHead: false, isLast: false }).toString().split('\r\n\r\n');
  expect(JSON.parse(body)).toEqual({
    type: 'about:blank',
    title: 'Bad Gateway',
    status: 502,
    detail: 'The upstream refused the connection.',
    error: 'connection_refused',
    code: 'D2S_ERR_UPSTREAM_REFUSED',
  });
  expect(head.split('\r\n').slice(1)).toEqual([
    'Content-Type: application/problem+json',
    `Content-Length: ${body.length}`,
    'Cache-Control: no-store',
    'Proxy-Status: d2-sidecar; error=connection_refused',
  ]);
});

it('a problem as bytes is a whole response of the announced length; for HEAD, the same head and no body', () => {
  // Its text has an apostrophe outside ASCII.
  const problem = upstreamProblem(new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL'));
  const toText = (isHead: boolean, isLast: boolean) => encodeProblem(problem, { isHead, isLast }).toString('latin1');
  const [head = '', body = ''] = toText(false, true).split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
  expect(head).toMatch(/\r\nConnection: close$/);
  expect(body).toHaveLength(Number(/Content-Length: (\d+)/.exec(head)?.[1]));
  expect(JSON.parse(body)).toMatchObject({ detail: 'The upstream’s answer is not HTTP/1.1.' });
  const whole = toText(false, false);
  expect(toText(true, false)).toBe(whole.slice(0, whole.indexOf('\r\n\r\n') + 4));
  expect(whole).not.toContain('Connection');
});
