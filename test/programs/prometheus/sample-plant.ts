/**
 * An application server for dashboards: calls that succeed, are refused and fail, Comet by long-polling and WebSocket,
 * and an exporter of its JVM with working collectors.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocketServer } from 'ws';
import { listening } from '../../support/net.ts';

const COMET_PATH = '/smartWeb/api/cometd';
export const JVM_PATH = '/jvm/metrics';
const JVM_PAGE = new URL('../../fixtures/jvm/http/prometheus/client-java-1.txt', import.meta.url);
const HOLD_MS = 200;

type Message = Readonly<Record<string, unknown>>;

export interface SamplePlant {
  readonly port: number;
  close(): Promise<void>;
}

export async function startSamplePlant(): Promise<SamplePlant> {
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const sockets = new WebSocketServer({ server, path: COMET_PATH });
  sockets.on('connection', (socket) => {
    socket.on('message', (text) => {
      toReplies(JSON.parse(String(text)) as Message[]).then(
        (replies) => socket.send(JSON.stringify(replies)),
        () => socket.terminate(),
      );
    });
  });
  await listening(server);
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '' } = request;
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += chunk;
  if (url === JVM_PATH) response.end(toJvmPage());
  else if (url.startsWith(COMET_PATH)) {
    const replies = await toReplies(JSON.parse(body) as Message[]);
    response.setHeader('content-type', 'application/json').end(JSON.stringify(replies));
  } else {
    response.statusCode = url.includes('Fail') ? 500 : url.includes('Missing') ? 404 : 200;
    response.end('ok');
  }
}

async function toReplies(messages: readonly Message[]): Promise<Message[]> {
  const replies = messages.map(toReply);
  // Held, and ended by a delivery.
  if (messages.some(({ channel }) => channel === '/meta/connect')) {
    await wait(HOLD_MS);
    replies.push({ channel: '/d2/object/H.Level', data: { value: 1 } });
  }
  return replies;
}

function toReply({ channel, id, subscription }: Message): Message {
  const reply = { channel, id, successful: true };
  if (channel === '/meta/handshake') {
    const supportedConnectionTypes = ['websocket', 'long-polling'];
    return { ...reply, version: '1.0', clientId: `client-${Math.random()}`, supportedConnectionTypes };
  }
  if (channel === '/meta/subscribe') return { ...reply, subscription };
  return channel === '/service/d2/rpc' ? { ...reply, data: {} } : reply;
}

/** With continuing collections: ten a second of each collector, of 2.5 ms. */
function toJvmPage(): string {
  const count = Math.round(performance.now() / 100);
  return readFileSync(JVM_PAGE, 'utf8')
    .replace(/^(jvm_gc_collection_seconds_count\{.*\}) .*$/gm, `$1 ${count}`)
    .replace(/^(jvm_gc_collection_seconds_sum\{.*\}) .*$/gm, `$1 ${count / 400}`);
}
