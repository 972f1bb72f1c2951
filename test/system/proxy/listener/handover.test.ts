/**
 * A login may belong to a connection (NTLM, Negotiate). So all requests of a client's connection reach the server on
 * one connection, whichever data path serves them. The server here answers with the number of the connection.
 */
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../../src/config/config.ts';
import { IRREGULARITIES, type Irregularity } from '../../../../src/protocol/http1/request-head.ts';
import { deferTo } from '../../../support/deferred.ts';
import { listening } from '../../../support/net.ts';
import { CertificateFolder, pemOf } from '../../../support/tls/certificates.ts';
import { upstreamTls } from '../../../support/tls/ends.ts';
import { Peer } from '../../../support/wire/peer.ts';
import { startStand } from '../../../support/wire/stand.ts';
import { UPGRADE as WEBSOCKET } from '../gateway/stand.ts';

const HOST = 'Host: plant.example\r\n';
const RELAYED = `GET /a HTTP/1.1\r\n${HOST}\r\n`;
const ABSOLUTE = `GET http://plant.example/a HTTP/1.1\r\n${HOST}\r\n`;

/** One request for each reason of a handover that reaches the server. */
const HANDED_OVER = [
  ['start-line', ABSOLUTE],
  ['start-line', `\r\n\r\n${RELAYED}`],
  ['upgrade', WEBSOCKET],
  ['framing', `POST /a HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
] as const;

/** All other reasons: the gateway refuses the request. */
const REFUSED: readonly (readonly [Irregularity, string])[] = [
  ['fields', `GET /a HTTP/1.1\r\n${HOST}not a field\r\n\r\n`],
  ['host', 'GET /a HTTP/1.1\r\n\r\n'],
  ['line-breaks', 'GET /a HTTP/1.1\nHost: a\n\n'],
  ['too-large', `GET /a HTTP/1.1\r\n${HOST}X: ${'x'.repeat(70_000)}\r\n\r\n`],
];

const HANDOVER = /^d2_sidecar_connections_handed_over_total\{reason="(.*)"\}$/;

const defer = deferTo(afterEach);
const folder = new CertificateFolder();
afterAll(() => folder.remove());

/** The server, whose upgraded connections say their number as well; and a function that connects a client. */
async function start(dataPath: Config['dataPath'] = 'auto', isSecure = false) {
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
  const authority = isSecure ? folder.authority() : undefined;
  const server = authority
    ? tls.createServer(pemOf(folder.signed(authority, { name: 'localhost' })), serve)
    : net.createServer(serve);
  /** The TCP connections; with TLS, `sockets` are those on top of them. */
  const below: net.Socket[] = [];
  server.on('connection', (socket: net.Socket) => below.push(socket));
  const upstreamPort = await listening(server);
  defer(() => server.close());
  defer(() => sockets.map((socket) => socket.destroy()));
  const stand = await startStand({
    upstreamPort,
    config: (base) => ({
      dataPath,
      upstream: { ...base.upstream, tls: authority && upstreamTls(authority, { serverName: 'localhost' }) },
    }),
  });
  defer(() => stand.close());
  /** E.g. `{ framing: 1 }` after one handover. */
  const handovers = async () => {
    const samples = [...(await stand.samples())];
    return Object.fromEntries(
      samples
        .flatMap(([key, count]) => (count > 0 ? [[HANDOVER.exec(key)?.[1], count]] : []))
        .filter(([reason]) => reason !== undefined),
    );
  };
  return { sockets, below, connect: () => stand.client(), handovers };
}

/** The number of the connection that the server answers on. */
async function numberOf(client: Peer, request: string): Promise<string> {
  client.send(request);
  return /<(\d+)>/.exec(await client.take(/<\d+>/))?.[1] ?? '';
}

describe('a handover to the gateway', () => {
  describe.each(HANDED_OVER)('for %s: %j', (reason, request) => {
    it('takes the connection to the server along', async () => {
      const { sockets, connect, handovers } = await start();
      await numberOf(connect(), RELAYED);
      const client = connect();
      for (const each of [RELAYED, `\r\n${RELAYED}`]) expect(await numberOf(client, each)).toBe('2');
      expect(await handovers()).toEqual({});
      expect(await numberOf(client, request)).toBe('2');
      expect(await handovers()).toEqual({ [reason]: 1 });
      if (request !== WEBSOCKET) expect(await numberOf(client, RELAYED)).toBe('2');
      expect(sockets).toHaveLength(2);
      client.socket.destroy();
      await once(sockets[1] as net.Socket, 'close');
    });

    it('takes a connection with TLS along', async () => {
      const { connect, handovers } = await start('auto', true);
      const client = connect();
      for (const each of [RELAYED, request]) expect(await numberOf(client, each)).toBe('1');
      expect(await handovers()).toEqual({ [reason]: 1 });
    });
  });

  it.each(REFUSED)('for %s ends in a refusal, and in no connection to the server', async (reason, request) => {
    const { connect, handovers } = await start();
    const client = connect();
    await numberOf(client, RELAYED);
    client.send(request);
    await client.ended();
    expect(client.received).toMatch(/^HTTP\/1\.1 4\d\d /);
    expect(await handovers()).toEqual({ [reason]: 1 });
    expect(await numberOf(connect(), RELAYED)).toBe('2');
  });

  it('is tested for each reason', () => {
    expect(new Set([...HANDED_OVER, ...REFUSED].map(([reason]) => reason))).toEqual(new Set(IRREGULARITIES));
  });

  it('dials anew where the server has closed its connection', async () => {
    const { sockets, connect } = await start();
    const client = connect();
    expect(await numberOf(client, RELAYED)).toBe('1');
    sockets[0]?.destroy();
    await once(sockets[0] as net.Socket, 'close');
    expect(await numberOf(client, ABSOLUTE)).toBe('2');
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

describe.each([
  ['auto', 'after a GET', [RELAYED, WEBSOCKET], false],
  ['auto', 'with TLS to the server', [WEBSOCKET], true],
  ['gateway', 'first', [WEBSOCKET], false],
  ['gateway', 'with TLS to the server', [WEBSOCKET], true],
] as const)('a WebSocket (%s, %s)', (dataPath, _how, requests, isSecure) => {
  it.each(['server', 'client'])('that the %s resets is reset on the other side', async (side) => {
    const { sockets, below, connect } = await start(dataPath, isSecure);
    const client = connect();
    for (const each of requests) await numberOf(client, each);
    const [from, to] = side === 'server' ? [below[0], client.socket] : [client.socket, sockets[0]];
    const reset = once(to as net.Socket, 'error');
    from?.resetAndDestroy();
    expect((await reset)[0]).toMatchObject({ code: 'ECONNRESET' });
  });
});
