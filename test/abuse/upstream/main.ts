/** The upstream of an abuse run as a process: it answers the users of plant.ts, and 401 to all others. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import net, { type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { toUpgraded } from '../../support/load/heads.ts';
import { obeyOrders } from '../../support/load/orders.ts';
import { FrameReader, OPCODES, text } from '../../support/protocol/websocket/frames.ts';
import * as plant from '../plant.ts';

const SMALL = '{"value":1}';
const LARGE = Buffer.alloc(5 * 1024 * 1024, 'x');
/** A larger refused upload is not read: the connection ends after the answer, as with Tomcat. */
const SWALLOWED_BYTES = 64 * 1024;
/** Larger Comet bodies are read and accepted, but not parsed: that is the sidecar's problem. */
const PARSED_BYTES = 16 * 1024;
/** Number of answered messages on a WebSocket; unlimited for the honest user. */
const MAX_ANSWERED = 8;
const LAST_CHUNK = '0\r\n\r\n';
const UPLOADED = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]';
const JSON_TYPE = { 'Content-Type': 'application/json' };
/** A connect is held this long, and then answered with a value of each object that the client monitors. */
const HOLD_MS = 50;
const MAX_CLIENTS = 10_000;

type Message = Record<string, unknown>;

/** Monitored channels by client id; when there are too many, the oldest client is evicted. */
const clients = new Map<string, Set<string>>();

/** The part of the Bayeux protocol that the honest user and the floods need. Sends the answers as JSON, at once or after the hold. */
function answerBayeux(text: string, isKnown: boolean, send: (json: string) => void): void {
  const messages = parse(text);
  const answer = () => send(JSON.stringify(messages.flatMap((message) => toReplies(message, isKnown))));
  if (messages.some(({ channel }) => channel === '/meta/connect')) setTimeout(answer, HOLD_MS);
  else answer();
}

function toReplies(message: Message, isKnown: boolean): Message[] {
  const { channel, id, clientId, subscription } = message;
  const monitored = clients.get(String(clientId));
  const reply = { channel, id };
  if (channel === '/meta/handshake') return [{ ...reply, ...toHandshake(message, isKnown) }];
  if (monitored === undefined) return [{ ...reply, successful: false, error: '402::unknown client' }];
  if (channel === '/meta/connect') {
    const values = [...monitored].map((each) => ({ channel: each, data: { value: 1 } }));
    return [...values, { ...reply, clientId, successful: true }];
  }
  if (channel === '/meta/subscribe') {
    const channels = [subscription].flat().map(String);
    for (const each of channels) if (each.startsWith(plant.OBJECT_PREFIX)) monitored.add(each);
  }
  if (channel === '/meta/disconnect') clients.delete(String(clientId));
  return [{ ...reply, clientId, subscription, successful: true }];
}

function toHandshake({ ext }: Message, isKnown: boolean): Message {
  const login = (ext as { authentication?: Message } | undefined)?.authentication;
  const isLogin = login?.user === plant.ATTACKER_LOGIN.user && login.credentials === plant.ATTACKER_LOGIN.credentials;
  if (!isKnown && !isLogin) return { successful: false, error: '403::denied' };
  const clientId = randomBytes(12).toString('hex');
  clients.set(clientId, new Set());
  const [oldest = ''] = clients.keys();
  if (clients.size > MAX_CLIENTS) clients.delete(oldest);
  return { clientId, successful: true, version: '1.0' };
}

function parse(text: string): Message[] {
  try {
    return [JSON.parse(text) as unknown].flat().filter((one) => typeof one === 'object' && one !== null) as Message[];
  } catch {
    return [];
  }
}

function isKnown({ headers: { authorization, cookie } }: IncomingMessage): boolean {
  const isUser = authorization === plant.HONEST_CREDENTIAL || authorization === plant.ATTACKER_CREDENTIAL;
  return isUser || cookie === plant.ATTACKER_COOKIE;
}

function serve(request: IncomingMessage, response: ServerResponse): void {
  // The client may leave at any time.
  request.on('error', () => {});
  response.on('error', () => {});
  // Also from the absolute form (RFC 9112 section 3.2.2).
  const [path = '', query = ''] = (request.url ?? '').replace(/^http:\/\/[^/]*/, '').split('?');
  // A held request keeps its head only in the sidecar.
  if (path === plant.HOLD_PATH) request.resume().rawHeaders.length = 0;
  else if (path.startsWith(plant.FAILING_PATH)) request.resume().on('end', () => answerWith(response, 501));
  else if (!isKnown(request)) refuse(request, response);
  else if (path === plant.COMET_PATH) answerComet(request, response, query);
  else if (path !== plant.UNREAD_PATH) {
    const answer = path === plant.LARGE_PATH ? LARGE : path.startsWith(plant.RPC_PATH) ? SMALL : undefined;
    request.resume().on('end', () => answerWith(response, answer === undefined ? 404 : 200, answer));
  }
}

function answerWith(response: ServerResponse, status: number, body: string | Buffer = ''): void {
  response.writeHead(status, { ...JSON_TYPE, 'Content-Length': Buffer.byteLength(body) }).end(body);
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  const isRead = Number(request.headers['content-length'] ?? 0) <= SWALLOWED_BYTES;
  const fields = { 'WWW-Authenticate': 'Basic realm="plant"', 'Content-Length': 0 };
  response.writeHead(401, { ...fields, ...(isRead ? {} : { Connection: 'close' }) }).end();
  if (isRead) request.resume();
}

function answerComet(request: IncomingMessage, response: ServerResponse, query: string): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= PARSED_BYTES) chunks.push(chunk);
  });
  request.on('end', () => {
    if (query === plant.HOLD_QUERY) return;
    const text = bytes > PARSED_BYTES ? '[]' : Buffer.concat(chunks).toString('utf8');
    answerBayeux(text, isKnown(request), (json) => answerWith(response, 200, json));
  });
}

/** Accepts every WebSocket and answers some plain messages; from the first compressed or fragmented frame on it reads and drops. */
function acceptSocket(request: IncomingMessage, socket: Duplex): void {
  const { 'sec-websocket-key': key = '', 'sec-websocket-extensions': offered = '', authorization } = request.headers;
  const extensions = offered.includes('permessage-deflate') ? ['Sec-WebSocket-Extensions: permessage-deflate'] : [];
  socket.on('error', () => socket.destroy());
  socket.on('end', () => socket.end());
  socket.write(toUpgraded(key, ...extensions));
  request.rawHeaders.length = 0;
  const frames = new FrameReader(true);
  let left = authorization === plant.HONEST_CREDENTIAL ? Number.POSITIVE_INFINITY : MAX_ANSWERED;
  const onData = (chunk: Buffer): void => {
    try {
      for (const { opcode, payload } of frames.read(chunk)) {
        if (opcode !== OPCODES.text) continue;
        left -= 1;
        if (left < 0) throw new Error('answered enough');
        answerBayeux(payload.toString('utf8'), isKnown(request), (json) => socket.write(text(json)));
      }
    } catch {
      socket.off('data', onData);
      socket.resume();
    }
  };
  socket.on('data', onData);
}

/** Answers uploads of very many chunks without a parser: Node's takes seconds for them, and honest calls would wait here. */
function answerUploads(socket: net.Socket, first: Buffer): void {
  let end = '';
  const onData = (data: Buffer): void => {
    end = `${end}${data.subarray(-LAST_CHUNK.length).toString('latin1')}`.slice(-LAST_CHUNK.length);
    if (end === LAST_CHUNK) socket.write(UPLOADED);
  };
  socket.on('error', () => socket.destroy());
  socket.on('data', onData);
  onData(first);
}

const server = http.createServer({ maxHeaderSize: 128 * 1024, keepAliveTimeout: 60_000 }, serve);
server.on('upgrade', acceptSocket);
server.on('clientError', (_, socket) => socket.destroy());
const front = net.createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.once('readable', () => {
    const first: Buffer = socket.read() ?? Buffer.alloc(0);
    if (first.includes(plant.MANY_CHUNKS)) return answerUploads(socket, first);
    socket.unshift(first);
    server.emit('connection', socket);
  });
});
front.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
await once(front, 'listening');

obeyOrders({ port: () => (front.address() as AddressInfo).port });
