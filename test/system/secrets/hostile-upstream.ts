/** An application server that puts a secret into every place of an answer, including places where none belongs. */
import http from 'node:http';
import type { Duplex } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { type WebSocket, WebSocketServer } from 'ws';
import { listening } from '../../support/net.ts';
import type { Fill, Markers } from './markers.ts';

export async function startHostileUpstream(markers: Markers) {
  const fill = markers.filling('upstream: ');
  const received: string[] = [];
  const comet = createComet(fill, received);
  const jvm = new Map<string, number>();
  const server = http.createServer({ maxHeaderSize: 1024 * 1024 }, (request, response) => {
    const target = request.url ?? '';
    received.push(target, ...request.rawHeaders);
    response.sendDate = false;
    // A client may leave in the middle on purpose.
    const content = buffer(request).catch(() => undefined);
    void content.then((bytes) => {
      if (bytes === undefined) return;
      const body = bytes.toString('latin1');
      received.push(body);
      const kind = /^\/jvm-([\w-]+)/.exec(target)?.[1];
      const answer = ANSWERS[/\/rpc\/E\.Demo[^/]*\/(\w+)/.exec(target)?.[1] ?? ''] ?? LOGGED_IN;
      if (kind !== undefined) {
        jvm.set(kind, (jvm.get(kind) ?? 0) + 1);
        answerReading(markers.filling(`JVM: ${kind}: `), kind, jvm.get(kind) ?? 0, response);
      } else if (target.includes('/api/cometd')) comet.answer(body, response);
      else if (typeof answer !== 'string') write(fill, answer, response);
      else if (answer !== CUT) request.socket.end(fill(answer).replaceAll('\n', '\r\n'), 'latin1');
      else response.writeHead(200, { 'Content-Length': 1_000 }).write(fill(CUT), () => request.socket.destroy());
    });
  });
  // Passed on although unreadable here: the upstream has to refuse it.
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('upgrade', (request, socket, head) => {
    received.push(request.url ?? '', ...request.rawHeaders);
    comet.upgrade(request, socket, head);
  });
  server.on('connection', (socket) => socket.on('error', () => undefined));
  return {
    port: await listening(server),
    received: () => received.join('\n'),
    jvmAnswers: (kind: string) => jvm.get(kind) ?? 0,
    /** Kinds of hostile answers to calls, each requested by the name of a procedure. */
    calls: Object.keys(ANSWERS),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Answer {
  readonly status?: number;
  readonly reason?: string;
  readonly fields?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

function write(fill: Fill, { status = 200, reason = 'OK', fields = {}, body = '' }: Answer, to: http.ServerResponse) {
  to.writeHead(status, fill(reason), JSON.parse(fill(JSON.stringify(fields)))).end(fill(body));
}

const CUT = '«part of a body»';

/** By the name of a procedure: a well-formed answer, or one byte by byte. */
const ANSWERS: Readonly<Record<string, Answer | string>> = {
  Plain: { fields: { 'X-Secret': '«value of a field»', 'X-«name of a field»': '1' }, body: '{"value":"«body»"}' },
  ReasonPhrase: { status: 500, reason: 'Broken «reason phrase»', body: '{"value":"«body of an error»"}' },
  Refused: {
    status: 401,
    fields: {
      'WWW-Authenticate': 'Digest realm="r", nonce="«nonce of a challenge»"',
      'Set-Cookie': 'JSESSIONID=«cookie beside a 401»',
    },
    body: '{"value":"«body of a 401»"}',
  },
  Redirect: {
    status: 302,
    fields: { Location: 'http://u:«password in Location»@h/?q=«query in Location»#«fragment in Location»' },
    body: '{"value":"«body of a redirect»"}',
  },
  Coded: { fields: { 'Content-Encoding': 'gzip' }, body: '{"value":"«body that is not its coding»"}' },
  Interim: [
    ...['HTTP/1.1 103 Early Hints', 'Link: <«interim response»>', '', 'HTTP/1.1 200 OK', 'Transfer-Encoding: chunked'],
    ...['', '3;x=«chunk extension»', 'abc', '0', 'X-Trailer: «trailer»', '', ''],
  ].join('\n'),
  StatusLine: 'HTTP/1.1 «place of the status»\n\n',
  NotHttp: 'SSH-2.0-«banner of another protocol»\n',
  Length: 'HTTP/1.1 200 OK\nContent-Length: «place of a length»\n\n',
  Chunk: 'HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n«place of a chunk size»\n',
  Switched: 'HTTP/1.1 101 Switching Protocols\nUpgrade: «unrequested protocol»\n\n',
  Head: `HTTP/1.1 200 OK\nX-«name of a field in a head that is too large»: ${'«head that is too large»'.repeat(4_000)}\n\n`,
  Cut: CUT,
};

const LOGGED_IN: Answer = {
  fields: { 'Set-Cookie': ['JSESSIONID=«cookie JSESSIONID»; Path=/; HttpOnly', 'other=«another cookie»'] },
  body: '{"token":"«body of a login»"}',
};

interface Message {
  readonly channel?: string;
  readonly id?: string;
  readonly subscription?: string;
}

function createComet(fill: Fill, received: string[]) {
  const server = new WebSocketServer({ noServer: true });
  server.on('headers', (lines) => lines.push(fill('Set-Cookie: JSESSIONID=«field of an upgrade»')));
  const noBayeux = fill('«a text that is no Bayeux»');
  const converse = (client: WebSocket) => {
    client.on('error', () => undefined);
    client.on('message', (data) => {
      const text = String(data);
      received.push(text);
      client.send(fill(repliesTo(text)));
      if (!text.includes('/meta/disconnect')) return;
      client.send(Buffer.from(noBayeux));
      client.close(4_000, noBayeux);
    });
  };
  return {
    answer: (body: string, response: http.ServerResponse) => {
      const text = body.startsWith('message=') ? (new URLSearchParams(body).get('message') ?? '') : body;
      const fields = { 'Content-Type': 'application/json', 'Set-Cookie': 'BAYEUX_BROWSER=«Comet: ext»' };
      write(fill, { fields, body: repliesTo(text) }, response);
    },
    upgrade: (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
      socket.on('error', () => undefined);
      if (request.url?.includes('/api/cometd')) return server.handleUpgrade(request, socket, head, converse);
      const reason = fill('«reason of a refused upgrade»');
      socket.end(`HTTP/1.1 403 ${reason}\r\nX-Secret: ${reason}\r\nContent-Length: 24\r\n\r\n${reason}`);
    },
  };
}

function repliesTo(text: string): string {
  try {
    return JSON.stringify([JSON.parse(text) as Message | Message[]].flat().flatMap(replyTo));
  } catch {
    return '<html>«a text that is no Bayeux»';
  }
}

function replyTo({ channel = '', id, subscription }: Message): object[] {
  const advice = { reconnect: 'retry', hosts: ['«Comet: advice»'] };
  const common = { channel, id, clientId: '«Comet: clientId»', ext: { token: '«Comet: ext»' }, advice };
  if (channel === '/service/d2/rpc') {
    const data = { result: '«Comet: answer of a call»', password: '«Comet: answer of a call»' };
    return [
      { ...common, successful: true },
      { channel, id, data },
    ];
  }
  if (channel === '/meta/connect') {
    const value = { channel: '/d2/object/H.Boiler', data: { value: '«Comet: value of an object»' } };
    return [value, { ...common, successful: true }];
  }
  if (subscription?.includes('Denied') !== true) return [{ ...common, subscription, successful: true }];
  const error = '403:«Comet: error of a reply»:«Comet: error of a reply» denied';
  return [{ ...common, subscription, successful: false, error }];
}

/** The server of the JVM's condition: a different hostile answer to each reading, and a refused login at the end. */
function answerReading(fill: Fill, kind: string, reading: number, response: http.ServerResponse): void {
  const answers: readonly Answer[] = [
    { body: JVM_ERRORS[kind] ?? '' },
    { body: '«body that cannot be read»' },
    { status: 500, reason: '«reason of a 500»', body: '«body of a 500»' },
    { status: 302, fields: { Location: 'http://u:«password in Location»@h/' } },
    { status: 401, fields: { 'WWW-Authenticate': 'Basic realm="«realm»"' }, body: '«body of a 401»' },
  ];
  write(fill, answers[Math.min(reading, answers.length) - 1] ?? {}, response);
}

const ERROR = '«error in a 200»';

const JVM_ERRORS: Readonly<Record<string, string>> = {
  'tomcat-jmxproxy': `Error - ${ERROR}: password=${ERROR}`,
  'tomcat-status': `<?xml version="1.0"?><status><jvm><memory free='${ERROR}'`,
  // One element for each question of its reader.
  jolokia: JSON.stringify(Array(4).fill({ status: 500, error: ERROR, stacktrace: ERROR, request: { mbean: ERROR } })),
  prometheus: `jvm_memory_bytes_used{password="${ERROR}"} ${ERROR}\n`,
  wildfly: JSON.stringify({ outcome: 'failed', 'failure-description': ERROR }),
};
