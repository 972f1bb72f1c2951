import { createServer, type RequestListener } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { asking, NOISE, request, requestInChunks, requestWith } from '../compose.ts';
import type { RawClient } from '../raw-client.ts';
import type { DataPathCase } from '../run-case.ts';
import type { UpstreamScript } from '../scripted-upstream.ts';
import { finals, send } from '../steps.ts';

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

const nodeCases: readonly DataPathCase[] = [
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
  {
    name: 'node:http: early hints, then an answer written in pieces with trailers',
    statuses: [103, 200],
    upstream: serving((_, answer) => {
      answer.writeEarlyHints({ link: '</a.css>; rel=preload' });
      answer.setHeader('Trailer', 'X-Sum');
      answer.write('one ');
      void nextTurn().then(() => {
        answer.addTrailers({ 'X-Sum': 'abc' });
        answer.end('two');
      });
    }),
    client: [send(request('GET /calls')), finals(1)],
    verify: ({ responses }) => expect(responses[1]).toMatchObject({ body: 'one two', trailers: ['X-Sum: abc'] }),
  },
];

/** A WebSocket server that takes the last protocol of the client's, and does with each connection what `onSocket` says. */
function websocketServer(onSocket: (socket: WebSocket) => void): UpstreamScript {
  return (connection, run) => {
    const server = createServer();
    const handleProtocols = (offered: ReadonlySet<string>) => [...offered].at(-1) ?? false;
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true, handleProtocols });
    server.on('upgrade', (incoming, socket, leftover) => {
      run.note(`upstream: ${incoming.method} ${incoming.url}`);
      sockets.handleUpgrade(incoming, socket, leftover, (accepted) => {
        accepted.on('close', (code, reason) => run.note(`upstream: closed ${code} ${reason.toString('utf8')}`));
        onSocket(accepted);
      });
    });
    connection.handOver(server);
  };
}

interface ClientOptions {
  readonly protocols?: string[];
  readonly perMessageDeflate?: boolean;
}

/** Opens a WebSocket beside the raw client, notes what it sees, and does what `onOpen` says until both ends have closed. */
async function websocket(
  { ca, port, run }: RawClient,
  onOpen: (socket: WebSocket) => void,
  { protocols = [], perMessageDeflate = false }: ClientOptions = {},
): Promise<void> {
  const url = `${ca === undefined ? 'ws' : 'wss'}://127.0.0.1:${port}/live?x=//y`;
  const trust = ca === undefined ? {} : { ca };
  const socket = new WebSocket(url, protocols, { ...trust, headers: { 'X-Case': run.token }, perMessageDeflate });
  const note = (what: string) => run.note(`client: ${what}`);
  socket.on('open', () => {
    note(`open ${socket.protocol} ${socket.extensions}`);
    onOpen(socket);
  });
  socket.on('message', (data: Buffer) => note(`message ${data.equals(NOISE) ? 'of noise' : data.toString('utf8')}`));
  socket.on('pong', (data) => note(`pong ${data.toString('utf8')}`));
  socket.on('error', (cause) => note(`error ${cause.message}`));
  socket.on('close', (code, reason) => note(`closed ${code} ${reason.toString('utf8')}`));
  await run.until(() => run.notes.filter((note) => / closed /.test(note)).length === 2);
}

const echoing = (socket: WebSocket) =>
  socket.on('message', (data: Buffer, isBinary) => socket.send(data, { binary: isBinary }));

const websocketCases: readonly DataPathCase[] = [
  {
    name: 'WebSocket: echo, ping, large messages both ways, and a close code of the client’s own',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer(echoing),
    client: (client) =>
      websocket(client, (socket) => {
        socket.ping('are you there');
        for (const data of ['žena', NOISE, NOISE, NOISE, 'last']) socket.send(data);
        socket.on('message', (data: Buffer) => {
          if (data.toString('utf8') === 'last') socket.close(4_001, 'done');
        });
      }),
    verify: ({ notes }) =>
      expect(notes).toEqual([
        ...[
          'open  ',
          'pong are you there',
          'message žena',
          'message of noise',
          'message of noise',
          'message of noise',
        ].map((what) => `client: ${what}`),
        ...['client: message last', 'client: closed 4001 done'],
        ...['upstream: GET /live?x=//y', 'upstream: closed 4001 done'],
      ]),
  },
  {
    name: 'WebSocket: compressed, with a subprotocol, closed by the server with its own code',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer((socket) => {
      echoing(socket);
      socket.on('message', () => socket.close(4_002, 'maintenance'));
    }),
    client: (client) =>
      websocket(client, (socket) => socket.send('a'.repeat(90)), { protocols: ['v1', 'v2'], perMessageDeflate: true }),
    verify: ({ notes }) => {
      expect(notes[0]).toBe('client: open v2 permessage-deflate');
      expect(notes).toContain('client: closed 4002 maintenance');
    },
  },
  {
    name: 'WebSocket: the server breaks off',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer((socket) => socket.terminate()),
    client: (client) => websocket(client, () => undefined),
    verify: ({ notes }) => expect(notes.some((note) => note.startsWith('client: closed 1006'))).toBe(true),
  },
];

export const realServerCases: readonly DataPathCase[] = [...nodeCases, ...websocketCases];
