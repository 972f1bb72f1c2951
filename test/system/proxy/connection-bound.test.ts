/**
 * A login may belong to a connection (NTLM, Negotiate). So all requests of a client's connection reach the server on
 * one connection, a WebSocket's included. The server here answers with the number of the connection.
 */
import { once } from 'node:events';
import type net from 'node:net';
import { describe, expect, it } from 'vitest';
import type { RequestFault } from '../../../src/protocol/http1/request-head.ts';
import { useCertificates } from '../../support/tls/ends.ts';
import { Peer } from '../../support/wire/peer.ts';
import type { Serve } from '../../support/wire/raw-upstream.ts';
import { reset, startFaultStand } from '../faults/fault-stand.ts';
import { SWITCHING, UPGRADE as WEBSOCKET } from './stand.ts';

const HOST = 'Host: plant.example\r\n';
const RELAYED = `GET /a HTTP/1.1\r\n${HOST}\r\n`;
const ABSOLUTE = `GET http://plant.example/a HTTP/1.1\r\n${HOST}\r\n`;

const SERVED = [
  ABSOLUTE,
  `\r\n\r\n${RELAYED}`,
  WEBSOCKET,
  `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
] as const;

/** One request for each fault of a head. */
const REFUSED: Readonly<Record<RequestFault, string>> = {
  'start-line': `GET /a HTTP\r\n${HOST}\r\n`,
  method: `CONNECT db.example:5432 HTTP/1.1\r\n${HOST}\r\n`,
  version: `GET /a HTTP/2.0\r\n${HOST}\r\n`,
  framing: `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked, gzip\r\n\r\n`,
  fields: `GET /a HTTP/1.1\r\n${HOST}not a field\r\n\r\n`,
  host: 'GET /a HTTP/1.1\r\n\r\n',
  'line-breaks': 'GET /a HTTP/1.1\nHost: a\n\n',
  'too-large': `GET /a HTTP/1.1\r\n${HOST}X: ${'x'.repeat(70_000)}\r\n\r\n`,
  body: `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nx`,
  'body-overhead': `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(20_000)}`,
};

const REFUSED_TOTAL = 'd2_sidecar_requests_refused_total';
const folder = useCertificates();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'localhost' });

/** The server answers, and says in an upgraded connection, the number of the connection. */
async function serve(socket: net.Socket, nth: number): Promise<void> {
  const number = `<${nth}>`;
  const peer = new Peer(socket);
  for (;;) {
    const head = await peer.head();
    if (/^upgrade: websocket/im.test(head)) {
      peer.send(`${SWITCHING}${number}`);
      return;
    }
    if (/gzip, chunked/.test(head)) await peer.take('0\r\n\r\n');
    peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${number.length}\r\n\r\n${number}`);
  }
}

async function start(isSecure = false) {
  const script: Serve = (socket, nth) => {
    socket.on('end', () => socket.end());
    // It ends with the connection.
    serve(socket, nth).catch(() => undefined);
  };
  const { upstreams, client, samples } = await startFaultStand({
    script,
    secure: isSecure ? { authority, own } : undefined,
  });
  const refusals = async () =>
    [...(await samples())].filter(([name, count]) => name.startsWith(REFUSED_TOTAL) && count > 0);
  return { sockets: upstreams, connect: () => client(), refusals };
}

/** The number of the connection that the server answers on. */
async function numberOf(client: Peer, request: string): Promise<string> {
  client.send(request);
  return /<(\d+)>/.exec(await client.take(/<\d+>/))?.[1] ?? '';
}

describe('a client’s connection', () => {
  describe.each(SERVED)('with %j', (request) => {
    it('has one connection to the server', async () => {
      const { sockets, connect, refusals } = await start();
      await numberOf(connect(), RELAYED);
      const client = connect();
      for (const each of [RELAYED, request]) expect(await numberOf(client, each)).toBe('2');
      if (request !== WEBSOCKET) expect(await numberOf(client, RELAYED)).toBe('2');
      expect(await refusals()).toEqual([]);
      expect(sockets).toHaveLength(2);
      client.socket.destroy();
      await once(sockets[1] as net.Socket, 'close');
    });

    it('has one connection with TLS to the server', async () => {
      const { connect } = await start(true);
      const client = connect();
      for (const each of [RELAYED, request]) expect(await numberOf(client, each)).toBe('1');
    });
  });

  it.each(Object.entries(REFUSED))('ends with a refusal for %s, which is counted', async (fault, request) => {
    const { connect, refusals } = await start();
    const client = connect();
    await numberOf(client, RELAYED);
    client.send(request);
    await client.ended();
    expect(client.received).toMatch(/^HTTP\/1\.1 [45]\d\d /);
    expect(await refusals()).toEqual([[`${REFUSED_TOTAL}{fault="${fault}"}`, 1]]);
    expect(await numberOf(connect(), RELAYED)).not.toBe('1');
  });

  it('dials anew for a WebSocket where the server has closed its connection', async () => {
    const { sockets, connect } = await start();
    const client = connect();
    expect(await numberOf(client, RELAYED)).toBe('1');
    sockets[0]?.destroy();
    await once(sockets[0] as net.Socket, 'close');
    expect(await numberOf(client, WEBSOCKET)).toBe('2');
  });
});

describe.each([
  ['first', [WEBSOCKET], false],
  ['after a GET', [RELAYED, WEBSOCKET], false],
  ['with TLS to the server', [WEBSOCKET], true],
] as const)('a WebSocket (%s)', (_how, requests, isSecure) => {
  it.each(['server', 'client'])('that the %s resets is reset on the other side', async (side) => {
    const { sockets, connect } = await start(isSecure);
    const client = connect();
    for (const each of requests) await numberOf(client, each);
    const server = sockets[0] as net.Socket;
    const [from, to] = side === 'server' ? [server, client.socket] : [client.socket, server];
    const failed = once(to, 'error');
    reset(from);
    expect((await failed)[0]).toMatchObject({ code: 'ECONNRESET' });
  });
});
