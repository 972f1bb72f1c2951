import { describe, expect, it } from 'vitest';
import { requestProblem, toAnswer, toRawResponse, upstreamProblem } from '../../../../src/proxy/exchange/problem.ts';
import { UpstreamFailure } from '../../../../src/proxy/exchange/upstream-failure.ts';

const secret = new Error('connect ECONNREFUSED 10.9.8.7:8080 /smartWeb?key=secret');

describe('the answer for an upstream that gave none', () => {
  it('is a problem with the failure’s status, RFC 9209 name and code', () => {
    const problem = upstreamProblem(new UpstreamFailure('D2S_ERR_UPSTREAM_REFUSED', secret));
    expect(problem.status).toBe(502);
    const { body, fields } = toAnswer(problem);
    expect(JSON.parse(body)).toEqual({
      type: 'about:blank',
      title: 'Bad Gateway',
      status: 502,
      detail: 'The upstream refused the connection.',
      error: 'connection_refused',
      code: 'D2S_ERR_UPSTREAM_REFUSED',
    });
    expect(Object.fromEntries(fields)).toEqual({
      'Content-Type': 'application/problem+json',
      'Content-Length': String(body.length),
      'Cache-Control': 'no-store',
      'Proxy-Status': 'd2-sidecar; error=connection_refused',
    });
  });

  it('is 504 when time ran out', () => {
    const problem = upstreamProblem(new UpstreamFailure('D2S_ERR_UPSTREAM_TIMEOUT'));
    expect([problem.status, problem.title]).toEqual([504, 'Gateway Timeout']);
  });

  it('contains nothing of the cause', () => {
    const problem = upstreamProblem(new UpstreamFailure('D2S_ERR_UPSTREAM_UNREACHABLE', secret));
    expect(JSON.stringify(problem)).not.toMatch(/10\.9|secret|smartWeb/);
  });
});

describe('a problem as bytes', () => {
  // Its text has an apostrophe outside ASCII.
  const problem = upstreamProblem(new UpstreamFailure('D2S_ERR_UPSTREAM_PROTOCOL'));

  it('is a whole response of the announced length', () => {
    const text = toRawResponse(problem, { isHead: false, isLast: true }).toString('latin1');
    const [head = '', body = ''] = text.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
    expect(head).toMatch(/\r\nConnection: close$/);
    expect(body).toHaveLength(Number(/Content-Length: (\d+)/.exec(head)?.[1]));
    expect(JSON.parse(body)).toMatchObject({ detail: 'The upstream’s answer is not HTTP/1.1.' });
  });

  it('has the same head and no body for HEAD', () => {
    const whole = toRawResponse(problem, { isHead: false, isLast: false }).toString('latin1');
    const head = toRawResponse(problem, { isHead: true, isLast: false }).toString('latin1');
    expect(head).toBe(whole.slice(0, whole.indexOf('\r\n\r\n') + 4));
    expect(head).not.toContain('Connection');
  });
});

describe('the answer for a request that is refused', () => {
  it.each([400, 408, 413, 431, 501, 503, 505] as const)('says %i', (status) => {
    const problem = requestProblem(status);
    const { fields, body } = toAnswer(problem);
    expect(JSON.parse(body)).toMatchObject({ status, title: problem.title });
    expect(fields.find(([name]) => name === 'Proxy-Status')?.[1]).toMatch(/^d2-sidecar; error=http_request_/);
  });
});
