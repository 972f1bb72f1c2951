/**
 * A login may belong to a connection (NTLM, Negotiate). So all requests of a client's connection reach the server on
 * one connection, whichever data path serves them. The server here answers with the number of the connection.
 */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { UpstreamTlsConfig } from '../../../../src/config/config.ts';
import { deferTo } from '../../../support/deferred.ts';
import { listening } from '../../../support/net.ts';
import { CertificateFolder, pemOf } from '../../../support/tls/certificates.ts';
import { upstreamTls } from '../../../support/tls/ends.ts';
import { Peer } from '../../../support/wire/peer.ts';
import { startStand } from '../../../support/wire/stand.ts';
import { UPGRADE as WEBSOCKET } from '../gateway/stand.ts';

const HOST = 'Host: plant.example\r\n';
const ABSOLUTE = `GET http://plant.example/a HTTP/1.1\r\n${HOST}\r\n`;

/** One request for each reason of a handover that reaches the server. */
const HANDED_OVER = [
  ['start-line', ABSOLUTE],
  ['host', 'GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n'],
  ['upgrade', WEBSOCKET],
  ['framing', `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
] as const;

const RELAYED = `GET /a HTTP/1.1\r\n${HOST}\r\n`;

const defer = deferTo(afterEach);
const folder = new CertificateFolder();
afterAll(() => folder.remove());

/** The server, whose upgraded connections say their number as well; and a function that connects a client. */
async function start(toServer?: UpstreamTlsConfig, tlsOptions?: tls.TlsOptions) {
  const sockets: net.Socket[] = [];
  const serve = (socket: net.Socket) => {
    const number = `<${sockets.push(socket)}>`;
    const peer = new Peer(socket);
    const answer = async () => {
      for (;;) {
        const head = await peer.head();
        if (/^upgrade: websocket/im.test(head)) {
          peer.send(`HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n${number}`);
          return;
        }
        if (/gzip, chunked/.test(head)) await peer.take('0\r\n\r\n');
        peer.send(`HTTP/1.1 200 OK\r\nContent-Length: ${number.length}\r\n\r\n${number}`);
      }
    };
    // It ends with the connection.
    answer().catch(() => undefined);
  };
  const server = tlsOptions ? tls.createServer(tlsOptions, serve) : net.createServer(serve);
  const upstreamPort = await listening(server);
  defer(() => server.close());
  defer(() => sockets.map((socket) => socket.destroy()));
  const stand = await startStand({
    upstreamPort,
    config: (base) => ({ upstream: { ...base.upstream, tls: toServer } }),
  });
  defer(() => stand.close());
  return { sockets, connect: stand.client };
}

/** The number of the connection that the server answers on. */
async function numberOf(client: Peer, request: string): Promise<string> {
  client.send(request);
  return /<(\d+)>/.exec(await client.take(/<\d+>/))?.[1] ?? '';
}

describe('a handover to the gateway', () => {
  describe.each(HANDED_OVER)('for %s', (_reason, request) => {
    it('takes the connection to the server along', async () => {
      const { sockets, connect } = await start();
      await numberOf(connect(), RELAYED);
      const client = connect();
      for (const each of [RELAYED, RELAYED, request]) expect(await numberOf(client, each)).toBe('2');
      if (request !== WEBSOCKET) expect(await numberOf(client, RELAYED)).toBe('2');
      expect(sockets).toHaveLength(2);
      client.socket.destroy();
      await once(sockets[1] as net.Socket, 'close');
    });

    it('takes a connection with TLS along', async () => {
      const authority = folder.authority();
      const own = pemOf(folder.signed(authority, { name: 'localhost' }));
      const { connect } = await start(upstreamTls(authority, { serverName: 'localhost' }), own);
      const client = connect();
      for (const each of [RELAYED, request]) expect(await numberOf(client, each)).toBe('1');
    });
  });

  it('dials anew where the server has closed its connection', async () => {
    const { sockets, connect } = await start();
    const client = connect();
    expect(await numberOf(client, RELAYED)).toBe('1');
    sockets[0]?.destroy();
    await once(sockets[0] as net.Socket, 'close');
    expect(await numberOf(client, ABSOLUTE)).toBe('2');
  });

  it.each(['server', 'client'])('leaves a reset by the %s inside a WebSocket a reset', async (side) => {
    const { sockets, connect } = await start();
    const client = connect();
    for (const each of [RELAYED, WEBSOCKET]) await numberOf(client, each);
    const server = sockets[0] as net.Socket;
    const [from, to] = side === 'server' ? [server, client.socket] : [client.socket, server];
    const reset = once(to, 'error');
    from.resetAndDestroy();
    expect((await reset)[0]).toMatchObject({ code: 'ECONNRESET' });
  });

  it('passes on large answers of a connection that was taken along', async () => {
    const { sockets, connect } = await start();
    const client = connect();
    for (const each of [RELAYED, WEBSOCKET]) await numberOf(client, each);
    const sent = 'abcdefghij'.repeat(300_000);
    sockets[0]?.end(sent);
    await client.ended();
    expect(client.received === sent).toBe(true);
  });
});
