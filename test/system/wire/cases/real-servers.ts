import { createServer, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import { asking, request, requestInChunks, requestWith } from '../compose.ts';
import type { DataPathCase } from '../run-case.ts';
import type { UpstreamScript } from '../scripted-upstream.ts';

function serving(listener: RequestListener): UpstreamScript {
  return (connection) => {
    const server = createServer((incoming, answer) => {
      // The clock is not part of any case.
      answer.sendDate = false;
      listener(incoming, answer);
    });
    connection.handOver(server);
  };
}

export const realServerCases: readonly DataPathCase[] = [
  {
    name: 'node:http: GET, POST, chunks with trailers, and HEAD in turn',
    statuses: [200, 200, 200, 100, 200, 200],
    upstream: serving(async (incoming, answer) => {
      const content = await text(incoming);
      answer.setHeader('X-Method', incoming.method ?? '');
      answer.end(JSON.stringify({ url: incoming.url, content, trailers: incoming.rawTrailers }));
    }),
    client: asking(
      request('GET //calls?a=1'),
      requestWith('content', 'POST /calls'),
      requestInChunks('3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n', 'POST /calls', 'Trailer: X-Sum'),
      requestWith('expected', 'PUT /calls', 'Expect: 100-continue'),
      request('HEAD /calls'),
    ).slice(0, -1),
    verify: ({ responses }) => {
      const bodies = responses.map(({ body }) => body).filter((body) => body !== '');
      expect(bodies.map((body) => JSON.parse(body))).toEqual([
        { url: '//calls?a=1', content: '', trailers: [] },
        { url: '/calls', content: 'content', trailers: [] },
        { url: '/calls', content: 'abc', trailers: ['X-Sum', '1', 'X-Sum', '2'] },
        { url: '/calls', content: 'expected', trailers: [] },
      ]);
    },
  },
];
