/** An application server that puts a secret into every place of an answer, including places where none belongs. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { listening } from '../../support/net.ts';
import type { Markers } from './markers.ts';

export interface HostileUpstream {
  readonly port: number;
  /** Everything that clients and the JVM's reader sent. */
  received(): string;
  /** Answered readings of the JVM's condition. */
  jvmAnswers(kind: string): number;
  /** Kinds of hostile answers to calls, each requested by the name of a procedure. */
  readonly calls: readonly string[];
  close(): Promise<void>;
}

type Answer = (response: http.ServerResponse, socket: Duplex) => void;

const CRLF = '\r\n';

export async function startHostileUpstream(markers: Markers): Promise<HostileUpstream> {
  const calls = createCalls((place) => markers.at(`upstream: ${place}`));
  const login = createLogin((place) => markers.at(`upstream: ${place}`));
  const comet = new Comet((place) => markers.at(`upstream: ${place}`));
  const jvm = new JvmPlaces((place) => markers.at(`JVM: ${place}`));
  const received: string[] = [];
  const server = http.createServer({ maxHeaderSize: 1024 * 1024 }, (request, response) => {
    const target = request.url ?? '';
    received.push(request.url ?? '', ...request.rawHeaders);
    response.sendDate = false;
    let body = '';
    request.setEncoding('latin1').on('data', (chunk: string) => {
      body += chunk;
    });
    // A client may leave in the middle on purpose.
    request.on('error', () => undefined);
    request.on('end', () => {
      received.push(body);
      const call = calls[/\/rpc\/E\.Demo[^/]*\/(\w+)/.exec(target)?.[1] ?? ''];
      if (target.startsWith('/jvm-')) jvm.answer(/^[\w-]+/.exec(target.slice(5))?.[0] ?? '', response);
      else if (target.includes('/api/cometd')) comet.answer(body, response);
      else if (call !== undefined) call(response, request.socket);
      else login(response, request.socket);
    });
  });
  // Passed on although unreadable here: the upstream has to refuse it.
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('upgrade', (request, socket, head) => {
    received.push(request.url ?? '', ...request.rawHeaders);
    comet.upgrade(request, socket, head);
  });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  await listening(server);
  return {
    port: (server.address() as AddressInfo).port,
    received: () => [...received, ...comet.received].join('\n'),
    jvmAnswers: (kind) => jvm.count(kind),
    calls: Object.keys(calls),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function createCalls(at: (place: string) => string): Readonly<Record<string, Answer>> {
  const raw =
    (text: string): Answer =>
    (_response, socket) =>
      void socket.end(text.replaceAll('\n', CRLF), 'latin1');
  const plain =
    (status: number, place: string, fields: http.OutgoingHttpHeaders = {}, reason = 'OK'): Answer =>
    (response) =>
      void response.writeHead(status, reason, fields).end(`{"value":"${places[place]}"}`);
  const places: Record<string, string> = {};
  const body = (place: string): string => {
    places[place] = at(place);
    return place;
  };
  const bigHead = at('name and value of a field in a head that is too large');
  return {
    Plain: plain(200, body('body'), { 'X-Secret': at('value of a field'), [`X-${at('name of a field')}`]: '1' }),
    ReasonPhrase: plain(500, body('body of an error'), {}, `Broken ${at('reason phrase')}`),
    Refused: plain(401, body('body of a 401'), {
      'WWW-Authenticate': `Digest realm="r", nonce="${at('nonce of a challenge')}"`,
      'Set-Cookie': `JSESSIONID=${at('cookie beside a 401')}`,
    }),
    Redirect: plain(302, body('body of a redirect'), {
      Location: `http://u:${at('password in Location')}@h/?q=${at('query in Location')}#${at('fragment in Location')}`,
    }),
    Coded: plain(200, body('body that is not its coding'), { 'Content-Encoding': 'gzip' }),
    Interim: raw(
      `HTTP/1.1 103 Early Hints\nLink: <${at('interim response')}>\n\nHTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n` +
        `3;x=${at('chunk extension')}\nabc\n0\nX-Trailer: ${at('trailer')}\n\n`,
    ),
    StatusLine: raw(`HTTP/1.1 ${at('place of the status')}\n\n`),
    NotHttp: raw(`SSH-2.0-${at('banner of another protocol')}\n`),
    NoColon: raw(`HTTP/1.1 200 OK\n${at('line without a colon')}\n\n`),
    OddName: raw(`HTTP/1.1 200 OK\nX ${at('odd name of a field')}: 1\nContent-Length: 0\n\n`),
    Length: raw(`HTTP/1.1 200 OK\nContent-Length: ${at('place of a length')}\n\n`),
    Lengths: raw(`HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 1${at('second length')}\n\na`),
    Coding: raw(`HTTP/1.1 200 OK\nTransfer-Encoding: ${at('place of a coding')}\n\n`),
    Chunk: raw(`HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n${at('place of a chunk size')}\n`),
    Trailer: raw(`HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0\n${at('broken trailer')}\n\n`),
    Switched: raw(`HTTP/1.1 101 Switching Protocols\nUpgrade: ${at('unrequested protocol')}\n\n`),
    Head: raw(`HTTP/1.1 200 OK\nX-${bigHead}: ${bigHead.repeat(4_000)}\n\n`),
    Cut: (response, socket) => {
      const part = at('part of a body');
      response.writeHead(200, { 'Content-Length': 1_000 }).write(part, () => socket.destroy());
    },
    CutHead: raw(`HTTP/1.1 200 OK\nX-Secret: ${at('head that breaks off')}`),
    Nothing: (_response, socket) => void socket.destroy(),
  };
}

/** Answers every other path, logins among them. */
function createLogin(at: (place: string) => string): Answer {
  const cookies = [`JSESSIONID=${at('cookie JSESSIONID')}; Path=/; HttpOnly`, `other=${at('another cookie')}`];
  const body = `{"token":"${at('body of a login')}"}`;
  return (response) => void response.writeHead(200, { 'Set-Cookie': cookies }).end(body);
}

interface Message {
  readonly channel?: string;
  readonly id?: string;
  readonly subscription?: string;
}

/** Bayeux, over long-polling and WebSocket. */
class Comet {
  readonly received: string[] = [];
  readonly #at: (place: string) => string;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #secrets: Readonly<Record<'clientId' | 'ext' | 'advice' | 'error' | 'value' | 'reply' | 'text', string>>;

  constructor(at: (place: string) => string) {
    this.#at = at;
    const field = at('field of an upgrade');
    this.#server.on('headers', (lines) => lines.push(`Set-Cookie: JSESSIONID=${field}`));
    this.#secrets = {
      clientId: at('Comet: clientId'),
      ext: at('Comet: ext'),
      advice: at('Comet: advice'),
      error: at('Comet: error of a reply'),
      value: at('Comet: value of an object'),
      reply: at('Comet: answer of a call'),
      text: at('a text that is no Bayeux'),
    };
  }

  answer(body: string, response: http.ServerResponse): void {
    const text = body.startsWith('message=') ? (new URLSearchParams(body).get('message') ?? '') : body;
    const cookie = `BAYEUX_BROWSER=${this.#secrets.ext}`;
    response.writeHead(200, { 'Content-Type': 'application/json', 'Set-Cookie': cookie });
    response.end(this.#reply(text));
  }

  upgrade(request: http.IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => undefined);
    if (!(request.url ?? '').includes('/api/cometd')) {
      const reason = this.#at('reason of a refused upgrade');
      socket.end(`HTTP/1.1 403 ${reason}\r\nX-Secret: ${reason}\r\nContent-Length: 24\r\n\r\n${reason}`);
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (client) => this.#converse(client));
  }

  #converse(client: WebSocket): void {
    client.on('error', () => undefined);
    client.on('message', (data) => {
      const text = String(data);
      this.received.push(text);
      client.send(this.#reply(text));
      if (!text.includes('/meta/disconnect')) return;
      client.send(Buffer.from(this.#secrets.text));
      client.close(4_000, this.#secrets.text);
    });
  }

  #reply(text: string): string {
    let messages: Message[];
    try {
      messages = [JSON.parse(text) as Message | Message[]].flat();
    } catch {
      return `<html>${this.#secrets.text}`;
    }
    return JSON.stringify(messages.flatMap((message) => this.#replyTo(message)));
  }

  #replyTo({ channel = '', id, subscription }: Message): object[] {
    const { clientId, ext, advice, error, value, reply } = this.#secrets;
    const common = { channel, id, clientId, ext: { token: ext }, advice: { reconnect: 'retry', hosts: [advice] } };
    if (channel === '/service/d2/rpc') {
      return [
        { ...common, successful: true },
        { channel, id, data: { result: reply, password: reply } },
      ];
    }
    if (channel === '/meta/connect') {
      return [
        { channel: '/d2/object/H.Boiler', data: { value } },
        { ...common, successful: true },
      ];
    }
    if (subscription?.includes('Denied') === true) {
      return [{ ...common, subscription, successful: false, error: `403:${error}:${error} denied` }];
    }
    return [{ ...common, subscription, successful: true }];
  }
}

type JvmAnswer = (response: http.ServerResponse) => void;

/** The server of the JVM's condition: a different hostile answer to each reading, and a refused login at the end. */
class JvmPlaces {
  readonly #at: (place: string) => string;
  readonly #scripts = new Map<string, readonly JvmAnswer[]>();
  readonly #counts = new Map<string, number>();

  constructor(at: (place: string) => string) {
    this.#at = at;
  }

  count(kind: string): number {
    return this.#counts.get(kind) ?? 0;
  }

  answer(kind: string, response: http.ServerResponse): void {
    const script = this.#scripts.get(kind) ?? this.#createScript(kind);
    this.#scripts.set(kind, script);
    const index = this.count(kind);
    this.#counts.set(kind, index + 1);
    script[Math.min(index, script.length - 1)]?.(response);
  }

  #createScript(kind: string): readonly JvmAnswer[] {
    const at = (place: string) => this.#at(`${kind}: ${place}`);
    const body =
      (text: string, status = 200, fields: http.OutgoingHttpHeaders = {}, reason = 'OK'): JvmAnswer =>
      (response) =>
        void response.writeHead(status, reason, fields).end(text);
    return [
      body(toErrorText(kind, at('error in a 200'))),
      body(at('body that cannot be read')),
      body(at('body of a 500'), 500, {}, at('reason of a 500')),
      body('', 302, { Location: `http://u:${at('password in Location')}@h/` }),
      body(at('body of a 401'), 401, { 'WWW-Authenticate': `Basic realm="${at('realm of a challenge')}"` }),
    ];
  }
}

/** The error format of each kind. */
function toErrorText(kind: string, secret: string): string {
  const texts: Readonly<Record<string, string>> = {
    'tomcat-jmxproxy': `Error - ${secret}: password=${secret}`,
    'tomcat-status': `<?xml version="1.0"?><status><jvm><memory free='${secret}'`,
    // One element for each question of its reader.
    jolokia: JSON.stringify(
      Array.from({ length: 4 }, () => ({ status: 500, error: secret, stacktrace: secret, request: { mbean: secret } })),
    ),
    prometheus: `jvm_memory_bytes_used{password="${secret}"} ${secret}\n`,
    wildfly: JSON.stringify({ outcome: 'failed', 'failure-description': secret }),
  };
  return texts[kind] ?? secret;
}
