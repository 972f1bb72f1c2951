/** `d2-sidecar check --connect` before real servers. */
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { check } from '../../../src/cli/check.ts';
import { Printed } from '../../support/cli/control/stand.ts';
import { listening, toUnusedPort } from '../../support/net.ts';
import { CertificateFolder, type Pair, pemOf } from '../../support/tls/certificates.ts';

const folder = new CertificateFolder();
const authority = folder.authority();
const own = folder.signed(authority, { name: 'plant' });
const expired = folder.signed(authority, { name: 'plant', days: -1 });
const CA = `, tls: { caFile: ${authority.certFile} }`;
const servers: net.Server[] = [];
let output: Printed;
let heads: string[];

beforeEach(() => {
  output = new Printed();
  heads = [];
});
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => folder.remove());

function listen(server: net.Server): Promise<number> {
  servers.push(server);
  return listening(server);
}

const answer = (status: number, fields = {}) =>
  function onRequest({ method, url }: http.IncomingMessage, response: http.ServerResponse) {
    heads.push(`${method} ${url}`);
    response.writeHead(status, { Connection: 'close', ...fields }).end();
  };

async function connect(url: string, more = ''): Promise<number> {
  const yaml = `upstream: { url: '${url}', connectTimeout: 2s${more} }\njvm: { source: none }`;
  const sources = { flags: { config: 'f' }, env: {}, readFile: () => yaml };
  return await check(sources, output, { isRoot: false, connects: true });
}

const lines = () => output.stdout.split('\n').filter((line) => line.startsWith('# '));

it.each([
  [200, {}, '200'],
  [302, { Location: '/smartWeb/login?token=secret' }, '302, to /smartWeb/login'],
  [404, {}, '404: nothing is there; is the path right, in upper and lower case, too?'],
])('a server that answers with %i is well, and gets one GET', async (status, fields, text) => {
  const port = await listen(http.createServer(answer(status, fields)));
  expect(await connect(`http://localhost:${port}/smartWeb`)).toBe(0);
  expect(lines()).toEqual([
    expect.stringMatching(/^# upstream\.url: localhost is \S/),
    expect.stringMatching(/^# upstream\.url: localhost:\d+ accepts a connection, in \d+ ms$/),
    `# upstream.url: GET /smartWeb/ is answered with ${text}`,
  ]);
  expect(output.stderr).toBe('');
  expect(heads).toEqual(['GET /smartWeb/']);
});

it('with TLS, it shows version, cipher and the days of the certificate', async () => {
  const code = await connect(`https://localhost:${await secure(own)()}/smartWeb`, CA);
  expect([code, output.stderr]).toEqual([0, '']);
  expect(lines()[2]).toMatch(/^# upstream\.tls: TLSv1\.3, TLS_\w+; its certificate expires in 29 days$/);
  expect(heads).toEqual(['GET /smartWeb/']);
});

const secure = (pair: Pair) => () => listen(https.createServer(pemOf(pair), answer(200)));
const plain = (act: (socket: net.Socket) => void) =>
  listen(net.createServer((socket) => socket.on('error', () => undefined).once('data', () => act(socket))));

it.each([
  ['refuses', 'http', toUnusedPort, '', 'upstream.url: The upstream refused the connection. (ECONNREFUSED)'],
  ['fails', 'http', () => listen(http.createServer(answer(503))), '', 'GET /smartWeb/ is answered with 503'],
  ['closes', 'http', () => plain((socket) => socket.end()), '', 'closed or reset the connection before its answer'],
  ['is no web server', 'http', () => plain((socket) => socket.end('SSH-2.0\r\n')), '', 'answer is not HTTP/1.1'],
  ['speaks TLS', 'http', secure(own), '', 'the upstream speaks TLS on that port, expected https://127.0.0.1:'],
  ['has no TLS', 'https', () => listen(http.createServer(answer(200))), CA, 'there is no TLS on that port (ERR_SSL_'],
  ['has an expired certificate', 'https', secure(expired), CA, 'its certificate has expired (CERT_HAS_EXPIRED)'],
])('a server that %s is a failure with the exit code 1', async (_what, scheme, start, more, text) => {
  expect(await connect(`${scheme}://127.0.0.1:${await start()}/smartWeb`, more)).toBe(1);
  expect(output.stderr).toMatch(/^d2-sidecar: /);
  expect(output.stderr).toContain(text);
  expect(output.stderr.trimEnd().split('\n')).toHaveLength(1);
});

it('a name without an address is a failure', async () => {
  expect(await connect('http://no-such-host.invalid/smartWeb')).toBe(1);
  expect(output.stderr).toMatch(/no address is found for the name no-such-host\.invalid \(E/);
});
