import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'vitest';
import { type RawData, WebSocket, WebSocketServer } from 'ws';
import type { CaseRun } from '../case-run.ts';
import { NOISE, request, requestInChunks, requestWith } from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';
import type { RawClient } from '../raw-client.ts';
import type { UpstreamConnection, UpstreamScript } from '../scripted-upstream.ts';
import { finals, heads, send, untilEnded } from '../steps.ts';

/** Node's own server instead of a script. */
function serving(listener: RequestListener): UpstreamScript {
  return async (connection) => {
    const server = createServer((incoming, answer) => {
      // The clock is not part of any case.
      answer.sendDate = false;
      listener(incoming, answer);
    });
    connection.handOver(server);
  };
}

async function contentOf(incoming: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('latin1');
}

/** Says back, as JSON, what came. */
const mirror: RequestListener = (incoming, answer) => {
  void contentOf(incoming).then((content) => {
    answer.setHeader('X-Method', incoming.method ?? '');
    answer.end(JSON.stringify({ url: incoming.url, content, trailers: incoming.rawTrailers }));
  });
};

const nodeCases: readonly DataPathCase[] = [
  {
    name: 'node:http: GET, POST, chunks with trailers, and HEAD in turn',
    statuses: [200, 200, 200, 200],
    upstream: serving(mirror),
    client: async (client) => {
      const texts = [
        request('GET //calls?a=1'),
        requestWith('content', 'POST /calls'),
        requestInChunks('3\r\nabc\r\n0\r\nX-Sum: 1\r\nX-Sum: 2\r\n\r\n', 'POST /calls', 'Trailer: X-Sum'),
        request('HEAD /calls'),
      ];
      for (const [index, text] of texts.entries()) {
        await client.send(text);
        await client.finals(index + 1);
      }
    },
    verify: ({ responses }) => {
      expect(responses.map(({ body }) => (body === '' ? undefined : JSON.parse(body)))).toEqual([
        { url: '//calls?a=1', content: '', trailers: [] },
        { url: '/calls', content: 'content', trailers: [] },
        { url: '/calls', content: 'abc', trailers: ['X-Sum', '1', 'X-Sum', '2'] },
        undefined,
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
  {
    name: 'node:http: 100-continue answered by the server itself',
    statuses: [100, 200],
    upstream: serving(mirror),
    client: [
      send(request('PUT /calls', 'Expect: 100-continue', 'Content-Length: 7')),
      heads(1),
      send('content'),
      finals(1),
    ],
    verify: ({ responses }) => expect(responses[1]?.body).toContain('"content":"content"'),
  },
  {
    name: 'node:http: a server that destroys the connection in the middle of an answer',
    statuses: [200],
    upstream: serving((_, answer) => {
      answer.writeHead(200, { 'Content-Length': 100 });
      answer.write('begin', () => answer.destroy());
    }),
    client: [send(request('GET /calls')), untilEnded],
    verify: ({ clientEnding }) => expect(clientEnding).toBe('cut'),
  },
];

/** A WebSocket server that notes what it sees, and does with each connection what `onSocket` says. */
function websocketServer(onSocket: (socket: WebSocket, run: CaseRun) => void, deflates = false): UpstreamScript {
  return async (connection: UpstreamConnection) => {
    const server = createServer();
    const sockets = new WebSocketServer({
      noServer: true,
      perMessageDeflate: deflates,
      handleProtocols: (offered) => [...offered].at(-1) ?? false,
    });
    server.on('upgrade', (incoming, socket, leftover) => {
      connection.run.note(`upstream: ${incoming.method} ${incoming.url}`);
      sockets.handleUpgrade(incoming, socket, leftover, (accepted) => {
        accepted.on('close', (code, reason) =>
          connection.run.note(`upstream: closed ${code} ${reason.toString('utf8')}`),
        );
        onSocket(accepted, connection.run);
      });
    });
    connection.handOver(server);
  };
}

function describe(data: RawData): string {
  const bytes = data as Buffer;
  return bytes.length > 100
    ? `${bytes.length} bytes, ${bytes.equals(NOISE) ? 'unchanged' : 'changed'}`
    : bytes.toString('utf8');
}

/** Opens a WebSocket beside the raw client, notes what it sees, and does what `onOpen` says until both ends have closed. */
async function websocket(
  client: RawClient,
  onOpen: (socket: WebSocket) => void,
  options: { readonly protocols?: string[]; readonly perMessageDeflate?: boolean } = {},
): Promise<void> {
  const { run } = client;
  const { ca } = client;
  const socket = new WebSocket(
    `${ca === undefined ? 'ws' : 'wss'}://127.0.0.1:${client.port}/live?x=//y`,
    options.protocols ?? [],
    {
      ...(ca === undefined ? {} : { ca }),
      headers: { 'X-Case': run.token },
      perMessageDeflate: options.perMessageDeflate ?? false,
    },
  );
  socket.on('open', () => {
    run.note(`client: open ${socket.protocol} ${socket.extensions}`);
    onOpen(socket);
  });
  socket.on('message', (data) => run.note(`client: message ${describe(data)}`));
  socket.on('pong', (data) => run.note(`client: pong ${data.toString('utf8')}`));
  socket.on('error', (cause) => run.note(`client: error ${cause.message}`));
  socket.on('close', (code, reason) => run.note(`client: closed ${code} ${reason.toString('utf8')}`));
  const bothClosed = () => run.notes.filter((note) => / closed /.test(note)).length === 2;
  await run.changed.until(bothClosed);
}

const echoing = (socket: WebSocket) =>
  socket.on('message', (data, isBinary) => socket.send(data as Buffer, { binary: isBinary }));

const websocketCases: readonly DataPathCase[] = [
  {
    name: 'WebSocket: echo, ping, and a close code of the client’s own',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer(echoing),
    client: (client) =>
      websocket(client, (socket) => {
        socket.ping('are you there');
        socket.send('žena');
        socket.on('message', () => socket.close(4_001, 'done'));
      }),
    verify: ({ notes }) => {
      expect(notes).toEqual([
        'client: open  ',
        'client: pong are you there',
        'client: message žena',
        'client: closed 4001 done',
        'upstream: GET /live?x=//y',
        'upstream: closed 4001 done',
      ]);
    },
  },
  {
    name: 'WebSocket: large messages both ways',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer(echoing),
    client: (client) =>
      websocket(client, (socket) => {
        let echoed = 0;
        for (let count = 0; count < 4; count += 1) socket.send(NOISE);
        socket.on('message', () => {
          echoed += 1;
          if (echoed === 4) socket.close(1_000);
        });
      }),
    verify: ({ notes }) => {
      expect(notes.filter((note) => note === `client: message ${NOISE.length} bytes, unchanged`).length).toBe(4);
    },
  },
  {
    name: 'WebSocket: compressed, with a subprotocol',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer(echoing, true),
    client: (client) =>
      websocket(
        client,
        (socket) => {
          socket.send('a'.repeat(90));
          socket.on('message', () => socket.close(1_000, 'bye'));
        },
        { protocols: ['v1', 'v2'], perMessageDeflate: true },
      ),
    verify: ({ notes }) => expect(notes[0]).toBe('client: open v2 permessage-deflate'),
  },
  {
    name: 'WebSocket: the server speaks first and closes with its own code',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer((socket) => {
      socket.send('hello');
      socket.close(4_002, 'maintenance');
    }),
    client: (client) => websocket(client, () => undefined),
    verify: ({ notes }) => expect(notes).toContain('client: closed 4002 maintenance'),
  },
  {
    name: 'WebSocket: the server breaks off',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer((socket) => socket.terminate()),
    client: (client) => websocket(client, () => undefined),
    verify: ({ notes }) => expect(notes.some((note) => note.startsWith('client: closed 1006'))).toBe(true),
  },
  {
    name: 'WebSocket: the client breaks off',
    statuses: [],
    isIrregular: true,
    upstream: websocketServer(() => undefined),
    client: (client) => websocket(client, (socket) => socket.terminate()),
    verify: ({ notes }) => expect(notes).toContain('upstream: closed 1006 '),
  },
  {
    name: 'WebSocket: refused, and the client learns the status',
    statuses: [],
    isIrregular: true,
    upstream: async (connection) => {
      const server = createServer();
      server.on('upgrade', (_, socket) => {
        connection.run.note('upstream: closed by refusal');
        socket.end('HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwho?');
      });
      connection.handOver(server);
    },
    client: (client) => websocket(client, () => undefined),
    verify: ({ notes }) => expect(notes).toContain('client: error Unexpected server response: 401'),
  },
];

export const realServerCases: readonly DataPathCase[] = [...nodeCases, ...websocketCases];
